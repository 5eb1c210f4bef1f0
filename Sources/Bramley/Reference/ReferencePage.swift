internal import Accounts
internal import Coding
internal import Logging

/// The pages of docs/reference that `make docs` prints from what the program knows of its names.
package enum ReferencePage: String, CaseIterable, Sendable {
    case failures, doctor, metrics
    case logLines = "log-lines"

    package var text: String {
        """
        # \(title)

        <!-- Written by `bramley explain --reference \(rawValue)`. -->

        \(preface)

        \(tables)
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

    private var tables: String {
        switch self {
        case .failures: Self.table(["Code", "Status", "What happened", "Do"], ReasonCode.allCases.map(Self.row))
        case .doctor: Self.table(["Check", "Finding", "Meaning"], Self.findings)
        case .metrics: Self.sections(Metric.groups.map { ($0.title, ["Metric", "Meaning"], $0.metrics.map(Self.row)) })
        case .logLines:
            Self.sections(
                LogMessage.groups.map { ($0.level.rawValue, ["Message", "Meaning"], $0.messages.compactMap(Self.row)) }
                    .filter { !$0.rows.isEmpty })
        }
    }

    private typealias Section = (title: String, columns: [String], rows: [[String]])

    private static func sections(_ sections: [Section]) -> String {
        sections.map { "## \($0.title)\n\n\(table($0.columns, $0.rows))" }.joined(separator: "\n")
    }

    private static func table(_ columns: [String], _ rows: [[String]]) -> String {
        let head = "| \(columns.joined(separator: " | ")) |\n|\(columns.map { _ in "---|" }.joined())\n"
        return head + rows.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }

    private static func row(_ code: ReasonCode) -> [String] {
        let (entry, remedy) = (code.entry, code.entry.remedy)
        return ["`\(code.rawValue)`", "\(entry.status)", entry.happened, remedy == "nothing" ? "" : remedy]
    }

    private static func row(_ metric: Metric) -> [String] {
        let family = metric.family
        let kind = family.kind == .histogram ? "Histogram. " : ""
        return ["`\(family.name)`", kind + family.help + family.labels.map { "<br>`\($0.name)`: \($0.text)" }.joined()]
    }

    private static func row(_ entry: LogMessage) -> [String]? {
        let texts = [entry.meaning, entry.remedy].filter { !$0.isEmpty }
        return texts.isEmpty ? nil : [entry.messages.joined(separator: "<br>"), texts.joined(separator: " ")]
    }

    private static var findings: [[String]] {
        var last: Diagnosis.Check?
        return Finding.allCases.map { finding in
            defer { last = finding.check }
            let check = finding.check == last ? "" : "`\(finding.check.rawValue)`"
            let state = finding.entry.state == .unsure ? "*Unsure*: " : ""
            return [check, "`\(finding.rawValue)`", state + finding.entry.meaning]
        }
    }
}
