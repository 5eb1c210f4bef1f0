import Accounts
internal import ArgumentParser

struct ExplainCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Explain a reason code of a log line, a problem document or the audit log; without one, list them all.")

    @Argument(
        help: "The code, as in `reason` or `code`.", completion: .list(ReasonCode.allCases.map(\.rawValue)))
    var code: String?

    @Flag(help: "Print docs/reference/failures.md instead.")
    var reference = false

    func perform() async throws {
        if reference { return try CommandOutput.write(Array(ReasonReference.page.utf8)) }
        guard let code else {
            let rows = ReasonCode.allCases.map {
                [$0.rawValue, String($0.entry.status), Self.plain($0.entry.happened)]
            }
            return try CommandOutput.table(
                TextTable([.init("CODE"), .init("STATUS"), .init("WHAT HAPPENED", flexible: true)], rows: rows))
        }
        guard let known = ReasonCode(rawValue: code) else { throw Self.unknown(code) }
        try CommandOutput.line(Self.explanation(of: known))
    }

    private static func explanation(of code: ReasonCode) -> String {
        let entry = code.entry
        return """
            \(code.rawValue)
              what happened  \(plain(entry.happened))
              status         \(entry.status)
              log level      \(entry.level)
              visitor sees   \(plain(entry.seen))
              do             \(plain(entry.remedy))
            """
    }

    /// A text without Markdown: of a link remain its words and the page, in docs/.
    private static func plain(_ text: String) -> String {
        text.replacing("*", with: "").replacing("](../", with: " (docs/").replacing("](", with: " (docs/reference/")
            .replacing("[", with: "")
    }

    private static func unknown(_ code: String) -> CommandFailure {
        let words = Array(code.lowercased().utf8)
        let near = ReasonCode.allCases.map {
            ($0.rawValue, ConfigurationTable.distance(words, Array($0.rawValue.utf8)))
        }
        .sorted { $0.1 < $1.1 }.prefix(3).map(\.0)
        return .usage("There is no reason code \(code.quoted). The nearest are \(near.joined(separator: ", ")).")
    }
}

/// docs/reference/failures.md, which `make docs` writes.
package enum ReasonReference {
    package static var page: String { preface + rows + ending }

    private static var rows: String {
        "| Code | Status | What happened | Visitor sees | Do |\n|---|---|---|---|---|\n"
            + ReasonCode.allCases.map { code in
                let entry = code.entry
                return "| `\(code.rawValue)` | \(entry.status) | \(entry.happened) | \(entry.seen) "
                    + "| \(entry.remedy) |\n"
            }.joined()
    }

    private static let preface = """
        # Reason codes

        <!-- Written by `bramley explain --reference`; a test compares this page with the program. -->

        Why a request was refused: `reason` in the log, `code` in a problem document, and the \
        [audit log](../operate/audit-log.md) for people Apple has verified. Codes are stable; `detail` says more. \
        [`bramley explain stale_state`](../operate/commands.md#reason-codes) prints one row.

        To find a visitor's line, search the log for the error number on their page: `error_id`, in a problem \
        document `errorID`. Pages that explain themselves (cancelled, waiting, switched off, not allowed, too often) \
        have none, nor do `debug` cases. Every answer except 204 of `/auth/verify` also has a [request \
        ID](../operate/operating.md#requests).

        A retry page explains what happened and offers to sign in again. A problem is a [problem \
        document](api.md#errors).


        """

    private static let ending = """

        Background jobs have [reasons of their own](../operate/jobs.md), and so has \
        [the certificate](../operate/network.md#certificate-errors).

        """
}
