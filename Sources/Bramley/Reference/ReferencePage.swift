internal import Accounts
internal import Coding
internal import Logging

/// The pages of docs/reference that `make docs` prints from the code.
package enum ReferencePage: String, CaseIterable, Sendable {
    case failures, doctor, metrics
    case logLines = "log-lines"

    package var text: String {
        """
        # \(title)

        <!-- Written by `bramley explain --reference \(rawValue)`. -->

        \(preface)

        \(content)
        """
    }

    private var title: String {
        switch self {
        case .failures: "Reason codes"
        case .doctor: "bramley doctor"
        case .metrics: "Metrics"
        case .logLines: "Log lines"
        }
    }

    private var content: String {
        switch self {
        case .failures: Self.list(ReasonCode.allCases.map(Self.entry))
        case .doctor: Self.findings
        case .metrics: Self.sections(Metric.groups.map { ($0.title, $0.metrics.map(Self.entry)) })
        case .logLines: Self.sections(LogMessage.groups.map { ($0.level.rawValue, $0.messages.compactMap(Self.entry)) })
        }
    }

    private static func list(_ entries: [String]) -> String { entries.map { "- \($0)\n" }.joined() }

    private static func sections(_ sections: [(title: String, entries: [String])]) -> String {
        sections.filter { !$0.entries.isEmpty }.map { "## \($0.title)\n\n\(list($0.entries))" }.joined(separator: "\n")
    }

    private static func entry(_ code: ReasonCode) -> String {
        let entry = code.entry
        let remedy = entry.remedy == "nothing" ? "" : ". **Do**: \(entry.remedy)"
        return "`\(code.rawValue)` (\(entry.status)): \(entry.happened)\(remedy)"
    }

    private static func entry(_ metric: Metric) -> String {
        let family = metric.family
        let labels = family.labels.map { "<br>`\($0.name)`: \($0.text)" }.joined()
        return "`\(family.name)`: \(family.kind == .histogram ? "Histogram. " : "")\(family.help)\(labels)"
    }

    private static func entry(_ message: LogMessage) -> String? {
        let texts = [message.meaning, message.remedy].filter { !$0.isEmpty }
        guard !texts.isEmpty else { return nil }
        return "\(message.messages.map { "**\($0)**" }.joined(separator: ", ")): \(texts.joined(separator: " "))"
    }

    private static var findings: String {
        var last: Diagnosis.Check?
        return Finding.allCases.map { finding in
            defer { last = finding.check }
            let check = finding.check == last ? "" : "- `\(finding.check.rawValue)`\n"
            let state = finding.entry.state == .unsure ? " (*unsure*)" : ""
            return "\(check)  - `\(finding.rawValue)`\(state): \(finding.entry.meaning)\n"
        }.joined()
    }
}
