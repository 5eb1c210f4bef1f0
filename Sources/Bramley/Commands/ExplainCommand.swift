import Accounts
internal import ArgumentParser

struct ExplainCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: """
            Explain a reason code, log message, doctor finding, metric or configuration key. Without a name, list all \
            reason codes.
            """)

    @Argument(
        help: "The name, as in `reason`, `message` or `finding`.",
        completion: .list(Explanation.all.map(\.name).filter { !$0.contains(" ") }))
    var name: String?

    @Flag(help: "Print the page of this name in docs/reference. (default: failures)") var reference = false

    func perform() async throws {
        if reference { return try CommandOutput.write(Array(try page().text.utf8)) }
        guard let name else {
            let rows = ReasonCode.allCases.map {
                [$0.rawValue, String($0.entry.status), Explanation.plain($0.entry.happened)]
            }
            return try CommandOutput.table(
                TextTable([.init("CODE"), .init("STATUS"), .init("WHAT HAPPENED", flexible: true)], rows: rows))
        }
        let found = Explanation.all.filter { $0.name == name }
        guard !found.isEmpty else { throw Self.unknown(name) }
        try CommandOutput.line(found.map(\.text).joined(separator: "\n\n"))
    }

    private func page() throws(CommandFailure) -> ReferencePage {
        guard let name else { return .failures }
        guard let page = ReferencePage(rawValue: name) else {
            let pages = ReferencePage.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("There is no page \(name.quoted). The pages are \(pages).")
        }
        return page
    }

    private static func unknown(_ name: String) -> CommandFailure {
        let words = Array(name.lowercased().utf8)
        let near = Set(Explanation.all.map(\.name)).map {
            (ConfigurationTable.distance(words, Array($0.lowercased().utf8)), $0)
        }
        .sorted(by: <).prefix(3).map(\.1)
        return .usage(
            "There is nothing named \(name.quoted) to explain. The closest names are \(near.joined(separator: ", ")).")
    }
}
