import Accounts
import Coding

/// What one of the operator's pages shows: a heading and sections, all in one template.
struct OperatorPage: Sendable {
    enum Tab: String, Sendable, CaseIterable {
        case today, users, sessions, clients, webhooks, notifications
        case apiKeys = "api-keys"
        case audit

        /// Below `publicURL`.
        var path: String { self == .today ? "/operator" : "/operator/\(rawValue)" }
    }

    var tab: Tab
    var title: String
    var sections: [OperatorSection]

    /// With a `notice` of what was just done, for this signed-in `person`.
    func values(notice: String?, person: String, texts: OperatorTexts, link: (String) -> String) -> PageValue {
        [
            "operator": [
                "title": .text(title), "notice": .optional(notice), "person": .text(person),
                "tabs": .list(
                    Tab.allCases.map { tab in
                        [
                            "text": .text(texts["tabs.\(tab)"]), "link": .text(link(tab.path)),
                            "isCurrent": .flag(tab == self.tab),
                        ]
                    }),
                "sections": .list(sections.enumerated().map { index, section in section.values(index, title: title) }),
            ]
        ]
    }
}

/// The texts of the operator's pages: those below `operator`.
struct OperatorTexts: Sendable {
    let strings: Strings

    subscript(key: String) -> String { strings["operator.\(key)"] }

    func text(_ key: String, _ values: [String: String]) -> String { strings.text("operator.\(key)", values) }

    func has(_ key: String) -> Bool { strings.has("operator.\(key)") }

    /// A word of a closed set: its text where there is one, otherwise itself.
    func word(_ set: String, _ value: String) -> String { has("\(set).\(value)") ? self["\(set).\(value)"] : value }

    /// A row of facts, headed like the column.
    func fact(_ column: String, _ cells: OperatorCell...) -> OperatorFact { (self["columns.\(column)"], cells) }

    func cell(_ outcome: NotificationOutcome) -> OperatorCell {
        .tag(word("outcomes", outcome.rawValue), isGood: outcome == .applied)
    }
}

typealias OperatorFact = (label: String, cells: [OperatorCell])

/// One card of a page. What it does not have is not shown.
struct OperatorSection: Sendable {
    var heading: String
    var note: String?
    var isWarning = false
    /// Finished markup.
    var chart: PageValue?
    var search: PageValue?
    var filters: [PageValue] = []
    var facts: [OperatorFact] = []
    var table: OperatorTable?
    var links: [PageValue] = []
    var form: OperatorForm?

    /// - Parameter title: of the page; the same as a heading is not shown twice.
    func values(_ index: Int, title: String) -> PageValue {
        [
            "id": .text("section-\(index)"), "heading": .text(heading),
            "isTitle": .flag(heading == title), "note": .optional(note),
            "isWarning": .flag(isWarning), "chart": chart ?? false, "search": search ?? false,
            "hasFilters": .flag(!filters.isEmpty), "filters": .list(filters), "hasFacts": .flag(!facts.isEmpty),
            "facts": .list(facts.map { ["label": .text($0.label), "cells": .list($0.cells.map { $0.values("") })] }),
            "table": table?.values ?? false, "hasLinks": .flag(!links.isEmpty), "links": .list(links),
            "form": form?.values ?? false,
        ]
    }
}

extension PageValue {
    /// A link below a section, or one that narrows its list.
    static func link(_ text: String, to link: String, isDanger: Bool = false, isCurrent: Bool = false) -> PageValue {
        ["text": .text(text), "link": .text(link), "isDanger": .flag(isDanger), "isCurrent": .flag(isCurrent)]
    }

    /// - Parameter hidden: sent with it: the filters in force.
    static func search(
        _ label: String, button: String, to link: String, _ value: String, hidden: [(name: String, value: String)] = []
    ) -> PageValue {
        [
            "label": .text(label), "button": .text(button), "link": .text(link), "value": .text(value),
            "hidden": .hidden(hidden),
        ]
    }

    static func hidden(_ fields: [(name: String, value: String)]) -> PageValue {
        .list(fields.map { ["name": .text($0.name), "value": .text($0.value)] })
    }
}

/// One value of a table or a list of facts.
enum OperatorCell: Sendable {
    case text(String?)
    /// Identifiers, which people copy.
    case code(String)
    case link(String, String)
    case moment(Timestamp?)
    case tag(String, isGood: Bool)
    /// A link that changes something, by way of a page that asks.
    case action(String, String)

    /// - Parameter label: the column's heading.
    func values(_ label: String) -> PageValue {
        var (text, link, moment) = (String?.none, String?.none, PageValue.flag(false))
        var (isCode, isTag, isGood, isAction) = (false, false, false, false)
        switch self {
        case .text(let value): text = value
        case .code(let value): (text, isCode) = (value, true)
        case .link(let value, let address): (text, link) = (value, address)
        case .moment(let value): moment = value.map(PageValue.moment) ?? false
        case .tag(let value, let good): (text, isTag, isGood) = (value, true, good)
        case .action(let value, let address): (text, link, isAction) = (value, address, true)
        }
        return [
            "label": .text(label), "text": .optional(text), "link": .optional(link), "moment": moment,
            "isEmpty": .flag((text ?? "").isEmpty && !moment.isShown),
            "isCode": .flag(isCode), "isTag": .flag(isTag), "isGood": .flag(isGood), "isAction": .flag(isAction),
        ]
    }

    /// In a CSV file; nil for what is only on the page.
    var plain: String? {
        switch self {
        case .text(let text): text ?? ""
        case .code(let text), .link(let text, _), .tag(let text, _): text
        case .moment(let moment): moment?.rfc3339 ?? ""
        case .action: nil
        }
    }
}

struct OperatorTable: Sendable {
    var columns: [String]
    var rows: [[OperatorCell]]
    /// Shown when there are no rows.
    var empty: String

    var values: PageValue {
        [
            "columns": .list(columns.map { ["text": .text($0)] }), "hasRows": .flag(!rows.isEmpty),
            "rows": .list(
                rows.map { row in
                    ["cells": .list(zip(row, columns).map { $0.values($1) })]
                }),
            "empty": .text(empty),
        ]
    }
}

/// A form that changes something. It posts to `/operator/change`.
struct OperatorForm: Sendable {
    struct Field: Sendable {
        enum Kind: Sendable {
            case line
            /// One value a line.
            case lines
            case tick
        }

        var kind: Kind
        var name: String
        var label: String
        var value = ""
        var isTicked = false
        var hint: String?
    }

    var link: String
    var hidden: [(name: String, value: String)]
    var fields: [Field] = []
    var button: String
    var isDanger: Bool

    var values: PageValue {
        [
            "link": .text(link), "hidden": .hidden(hidden), "button": .text(button), "isDanger": .flag(isDanger),
            "fields": .list(
                fields.map { field in
                    [
                        "name": .text(field.name), "label": .text(field.label), "value": .text(field.value),
                        "isLine": .flag(field.kind == .line), "isLines": .flag(field.kind == .lines),
                        "isTick": .flag(field.kind == .tick), "isTicked": .flag(field.isTicked),
                        "hint": .optional(field.hint),
                    ]
                }),
        ]
    }
}
