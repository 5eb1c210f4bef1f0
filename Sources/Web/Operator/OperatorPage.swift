import Accounts
import Coding

/// What one of the operator's pages shows: a heading and sections, all in one template.
struct OperatorPage: Sendable {
    /// The pages of the navigation.
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

    /// - Parameters:
    ///   - notice: what was just done.
    ///   - person: who is signed in.
    func values(
        notice: String?, person: String, scriptNonce: String, texts: OperatorTexts, link: (String) -> String
    ) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce)],
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
            ],
        ]
    }
}

/// The texts of the operator's pages: those below `operator`.
struct OperatorTexts: Sendable {
    let strings: Strings?

    subscript(key: String) -> String { strings?["operator.\(key)"] ?? key }

    func text(_ key: String, _ values: [String: String]) -> String {
        strings?.text("operator.\(key)", values) ?? key
    }

    func has(_ key: String) -> Bool { strings?.has("operator.\(key)") ?? false }

    /// A word of a closed set: its text where there is one, otherwise itself.
    func word(_ set: String, _ value: String) -> String { has("\(set).\(value)") ? self["\(set).\(value)"] : value }
}

/// One card of a page. What it does not have is not shown.
struct OperatorSection: Sendable {
    struct Link: Sendable {
        var text: String
        var link: String
        var isDanger = false
        var isCurrent = false
    }

    struct Search: Sendable {
        var label: String
        var button: String
        var link: String
        var value: String
        /// Sent with it: the filters in force.
        var hidden: [(name: String, value: String)] = []
    }

    var heading: String
    var note: String?
    var isWarning = false
    /// Finished markup.
    var chart: PageValue?
    var search: Search?
    var filters: [Link] = []
    var facts: [(label: String, cells: [OperatorCell])] = []
    var table: OperatorTable?
    var links: [Link] = []
    var form: OperatorForm?

    /// - Parameter title: of the page; the same as a heading is not shown twice.
    func values(_ index: Int, title: String) -> PageValue {
        let search = search.map { search -> PageValue in
            [
                "label": .text(search.label), "button": .text(search.button), "link": .text(search.link),
                "value": .text(search.value), "hidden": Self.hidden(search.hidden),
            ]
        }
        return [
            "id": .text("section-\(index)"), "heading": .text(heading),
            "isTitle": .flag(heading == title), "note": .optional(note),
            "isWarning": .flag(isWarning), "chart": chart ?? false, "search": search ?? false,
            "hasFilters": .flag(!filters.isEmpty), "filters": Self.links(filters), "hasFacts": .flag(!facts.isEmpty),
            "facts": .list(facts.map { ["label": .text($0.label), "cells": .list($0.cells.map { $0.values("") })] }),
            "table": table?.values ?? false, "hasLinks": .flag(!links.isEmpty), "links": Self.links(links),
            "form": form?.values ?? false,
        ]
    }

    fileprivate static func links(_ links: [Link]) -> PageValue {
        .list(
            links.map {
                [
                    "text": .text($0.text), "link": .text($0.link), "isDanger": .flag($0.isDanger),
                    "isCurrent": .flag($0.isCurrent),
                ]
            })
    }

    fileprivate static func hidden(_ fields: [(name: String, value: String)]) -> PageValue {
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
        case .moment(let value): moment = value.map { MomentText.values(of: $0) } ?? false
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

/// Rows of cells below headings.
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
            "link": .text(link), "hidden": OperatorSection.hidden(hidden), "button": .text(button),
            "isDanger": .flag(isDanger),
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
