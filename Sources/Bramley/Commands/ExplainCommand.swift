import Accounts
internal import ArgumentParser

/// `bramley explain`
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Explain a reason code of a log line, a problem document or the audit log; without one, list them all.")

    @Argument(
        help: "The code, as in `reason` or `code`.", completion: .list(ReasonCode.allCases.map(\.rawValue)))
    var code: String?

    @Flag(help: "Print docs/reason-codes.md instead.")
    var reference = false

    @Flag(help: "Print the table of docs/api.md instead.")
    var table = false

    func run() async throws {
        try await CommandRun.reporting {
            if reference { return try CommandOutput.write(Array(ReasonReference.page.utf8)) }
            if table { return try CommandOutput.write(Array(ReasonReference.table.utf8)) }
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
        text.replacing("*", with: "").replacing("](", with: " (docs/").replacing("[", with: "")
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

/// docs/reason-codes.md, and the table of docs/api.md: `make docs` writes both.
package enum ReasonReference {
    package static var page: String { preface + rows + ending }

    /// What a program can get. A failed sign-in is a page's, and an app finds its code on the page above.
    package static var table: String {
        let codes = ReasonCode.allCases.filter { !ReasonCode.signIns.contains($0) || $0 == .keysUnavailable }
        // In the order of the enumeration below one status.
        let statuses = Set(codes.map(\.entry.status)).sorted()
        return "| Code | Status | Meaning |\n|---|---|---|\n"
            + statuses.flatMap { status in codes.filter { $0.entry.status == status } }.map { code in
                "| `\(code.rawValue)` | \(code.entry.status) | \(code.entry.happened) |\n"
            }.joined()
    }

    private static var rows: String {
        "| Code | Level | Status | What happened | Visitor sees | Do |\n|---|---|---|---|---|---|\n"
            + ReasonCode.allCases.map { code in
                let entry = code.entry
                return "| `\(code.rawValue)` | \(entry.level) | \(entry.status) | \(entry.happened) | \(entry.seen) "
                    + "| \(entry.remedy) |\n"
            }.joined()
    }

    private static let preface = """
        # Reason codes

        <!-- Written by `bramley explain --reference`; a test compares this page with the program. -->

        Why a request was refused. You find the code in `reason` of the log line, in `code` of a problem document, \
        and, for people Apple has verified, in the [audit log](operations/audit-log.md). Codes are stable. `detail` \
        in the log says more. [`bramley explain stale_state`](operations/commands.md#reason-codes) prints one row of \
        this table.

        To find the line for a visitor, use the error number on their page, `error_id` in the log, or `errorID` in a \
        problem document. Pages that explain themselves (cancelled, waiting, switched off, not allowed, too often) \
        have none, nor do `debug` cases. Every answer except 204 of `/auth/verify` also has a [request \
        ID](operating.md#requests).

        "Retry page" explains what happened and offers to sign in again. "Problem" is an RFC 9457 document; see \
        [its codes](api.md#error-codes).


        """

    private static let ending = """

        Background jobs have [reasons of their own](operations/jobs.md), and so has \
        [the certificate](tls.md#certificate-errors).

        """
}
