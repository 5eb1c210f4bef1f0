internal import Accounts
internal import Coding
internal import Logging

/// What `bramley explain` prints for a name.
struct Explanation: Sendable {
    let name: String
    /// In Markdown with the links of docs/reference. An empty text is not printed.
    let lines: [(label: String, text: String)]

    /// Some names are those of a reason and of a finding.
    static let all: [Explanation] =
        ReasonCode.allCases.map(\.explanation) + LogMessage.groups.flatMap(explanations)
        + Finding.allCases.map(\.explanation) + Metric.groups.flatMap(\.metrics).map(\.family.explanation)
        + ConfigurationTable.keys.map(\.explanation)

    private static func explanations(_ group: (level: Logger.Level, messages: [LogMessage])) -> [Explanation] {
        group.messages.flatMap { entry in
            entry.messages.map {
                Explanation(
                    name: $0,
                    lines: [("log level", "\(group.level)"), ("meaning", entry.meaning), ("do", entry.remedy)])
            }
        }
    }

    /// For a terminal.
    var text: String {
        let printed = lines.filter { !$0.text.isEmpty }.map { label, text in
            "\n  \(label)\(String(repeating: " ", count: 15 - label.utf8.count))\(Self.plain(text))"
        }
        return name + printed.joined()
    }

    /// A text without Markdown: of a link remain its words and the page, in docs/.
    static func plain(_ text: String) -> String {
        text.replacing(/\*+([^* ]+)\*+/) { $0.1 }.replacing(/\[([^\]]*)\]\(([^)]*)\)/) { link in
            let page = link.2.hasPrefix("../") ? "docs/" + link.2.dropFirst(3) : "docs/reference/" + link.2
            return "\(link.1) (\(page))"
        }
    }
}

extension ReasonCode {
    fileprivate var explanation: Explanation {
        Explanation(
            name: rawValue,
            lines: [
                ("what happened", entry.happened), ("status", "\(entry.status)"), ("log level", "\(entry.level)"),
                ("visitor sees", entry.seen), ("do", entry.remedy),
            ])
    }
}

extension Finding {
    fileprivate var explanation: Explanation {
        Explanation(
            name: rawValue,
            lines: [
                ("found by", "`bramley doctor`, which says what to do"), ("check", check.rawValue),
                ("state", entry.state.rawValue), ("meaning", entry.meaning),
            ])
    }
}

extension MetricFamily {
    fileprivate var explanation: Explanation {
        Explanation(
            name: name, lines: [("metric", kind.rawValue), ("meaning", help)] + labels.map { ($0.name, $0.text) })
    }
}

extension MetricFamily.Label {
    /// Its values, or what describes them.
    var text: String { described ?? values.map { $0.isEmpty ? "empty" : "`\($0)`" }.joined(separator: ", ") }
}

extension ConfigurationKey {
    fileprivate var explanation: Explanation {
        Explanation(name: name, lines: [("values", ConfigurationTable.values(self)), ("meaning", meaning)])
    }
}
