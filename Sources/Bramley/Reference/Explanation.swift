internal import Accounts
internal import Coding
internal import Logging

struct Explanation: Sendable {
    let name: String
    /// In Markdown with the links of docs/reference. An empty text is not printed.
    let lines: [(label: String, text: String)]

    static let all: [Explanation] =
        ReasonCode.allCases.map(of) + LogMessage.groups.flatMap(explanations)
        + Finding.allCases.map(of) + Metric.groups.flatMap(\.metrics).map { of($0.family) }
        + ConfigurationTable.keys.map(of)

    private static func explanations(_ group: (level: Logger.Level, messages: [LogMessage])) -> [Explanation] {
        group.messages.flatMap { entry in
            entry.messages.map {
                Explanation(
                    name: $0,
                    lines: [("log level", "\(group.level)"), ("meaning", entry.meaning), ("do", entry.remedy)])
            }
        }
    }

    private static func of(_ code: ReasonCode) -> Explanation {
        let entry = code.entry
        return Explanation(
            name: code.rawValue,
            lines: [
                ("what happened", entry.happened), ("status", "\(entry.status)"), ("log level", "\(entry.level)"),
                ("visitor sees", entry.seen), ("do", entry.remedy),
            ])
    }

    private static func of(_ finding: Finding) -> Explanation {
        Explanation(
            name: finding.rawValue,
            lines: [
                ("found by", "`bramley doctor`, which says what to do"), ("check", finding.check.rawValue),
                ("state", finding.entry.state.rawValue), ("meaning", finding.entry.meaning),
            ])
    }

    private static func of(_ family: MetricFamily) -> Explanation {
        Explanation(
            name: family.name,
            lines: [("metric", family.kind.rawValue), ("meaning", family.help)]
                + family.labels.map { ($0.name, $0.text) })
    }

    private static func of(_ key: ConfigurationKey) -> Explanation {
        Explanation(name: key.name, lines: [("values", ConfigurationTable.values(key)), ("meaning", key.meaning)])
    }

    var text: String {
        let printed = lines.filter { !$0.text.isEmpty }.map { label, text in
            "\n  \(label)\(String(repeating: " ", count: 15 - label.utf8.count))\(Self.plain(text))"
        }
        return name + printed.joined()
    }

    /// A text without Markdown: a link becomes its words and the page's path in docs/.
    static func plain(_ text: String) -> String {
        text.replacing(/\*+([^* ]+)\*+/) { $0.1 }.replacing(/\[([^\]]*)\]\(([^)]*)\)/) { link in
            let page = link.2.hasPrefix("../") ? "docs/" + link.2.dropFirst(3) : "docs/reference/" + link.2
            return "\(link.1) (\(page))"
        }
    }
}

extension MetricFamily.Label {
    var text: String { described ?? values.map { $0.isEmpty ? "empty" : "`\($0)`" }.joined(separator: ", ") }
}
