import Accounts
import Coding

/// What one of the operator's pages shows: a heading and sections, all in one template.
struct OperatorPage: Sendable {
    enum Tab: String, Sendable, CaseIterable {
        case today, users, groups, sessions, clients, webhooks, notifications
        case apiKeys = "api-keys"
        case audit, server

        /// Below `publicURL`.
        var path: String { self == .today ? "/operator" : "/operator/\(rawValue)" }
    }

    var tab: Tab
    var title: String
    var sections: [OperatorSection]

    /// `notice` says what was just done; `person` is signed in.
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

/// A number or a word that leads to more.
typealias OperatorFigure = (label: String, value: String, link: String, tone: OperatorTone?)

/// How something looks, as `bramley doctor` has it: green, amber or red.
package enum OperatorTone: Sendable {
    case good, unsure, wrong
}

/// One card of a page. Absent parts are not shown.
struct OperatorSection: Sendable {
    /// The fragment that links use; nil for figures.
    var id: String?
    var heading: String
    var note: String?
    var isWarning = false
    /// Finished markup.
    var chart: PageValue?
    var search: PageValue?
    var filters: [PageValue] = []
    var figures: [OperatorFigure] = []
    var facts: [OperatorFact] = []
    var table: OperatorTable?
    var links: [PageValue] = []
    var form: OperatorForm?

    /// - Parameter title: of the page; the same as a heading is not shown twice.
    func values(_ index: Int, title: String) -> PageValue {
        [
            "id": .text(id ?? "section-\(index)"), "heading": .text(heading),
            "isTitle": .flag(heading == title), "note": .optional(note),
            "isWarning": .flag(isWarning), "chart": chart ?? false, "search": search ?? false,
            "hasFilters": .flag(!filters.isEmpty), "filters": .list(filters), "hasFacts": .flag(!facts.isEmpty),
            "hasFigures": .flag(!figures.isEmpty),
            "figures": .list(
                figures.map { figure in
                    [
                        "label": .text(figure.label), "value": .text(figure.value), "link": .text(figure.link),
                        "isGood": .flag(figure.tone == .good), "isUnsure": .flag(figure.tone == .unsure),
                        "isWrong": .flag(figure.tone == .wrong),
                    ]
                }),
            "facts": .list(
                facts.map { fact in
                    let parts = OperatorCell.several(fact.cells.flatMap(\.parts)).parts
                    return ["label": .text(fact.label), "cells": .list(parts.map { $0.values("") })]
                }),
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

    /// - Parameters:
    ///   - hidden: sent with it: the filters in force.
    ///   - choices: menus; one entry of each is sent.
    ///   - dates: the first and last day.
    static func search(
        _ label: String, button: String, to link: String, _ value: String, hidden: [(name: String, value: String)] = [],
        choices: [PageValue] = [], dates: [(name: String, label: String, value: String)] = []
    ) -> PageValue {
        [
            "label": .text(label), "button": .text(button), "link": .text(link), "value": .text(value),
            "hidden": .hidden(hidden), "choices": .list(choices),
            "dates": .list(dates.map { ["name": .text($0.name), "label": .text($0.label), "value": .text($0.value)] }),
        ]
    }

    typealias Options = [(value: String, text: String)]

    /// - Parameter groups: further options, under headings.
    static func choice(
        _ name: String, _ label: String, _ options: Options, groups: [(label: String, options: Options)] = [],
        chosen: String
    ) -> PageValue {
        func list(_ options: Options) -> PageValue {
            .list(
                options.map { value, text in
                    ["value": .text(value), "text": .text(text), "isChosen": .flag(value.isExactly(chosen))]
                })
        }
        return [
            "name": .text(name), "label": .text(label), "options": list(options),
            "groups": .list(groups.map { ["label": .text($0.label), "options": list($0.options)] }),
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
    /// A code that is shown once, with a button that copies it.
    case secret(String)
    case link(String, String)
    case moment(Timestamp?)
    case tag(String, isGood: Bool)
    case tone(String, OperatorTone)
    /// A box that selects the row for the form below the table; what a screen reader calls it.
    case tick(String, label: String)
    /// A link to the confirmation page of a change.
    case action(String, String)
    /// Several of these, side by side.
    case several([OperatorCell])

    /// One or more.
    var parts: [OperatorCell] {
        guard case .several(let cells) = self else { return [self] }
        return cells.isEmpty ? [.text(nil)] : cells
    }

    /// - Parameter label: the column's heading.
    func values(_ label: String) -> PageValue {
        var (text, link, moment) = (String?.none, String?.none, PageValue.flag(false))
        var (isCode, isTag, isGood, isWrong, isAction, isSecret) = (false, false, false, false, false, false)
        var tick = PageValue.flag(false)
        switch self {
        case .text(let value): text = value
        case .code(let value): (text, isCode) = (value, true)
        case .secret(let value): (text, isCode, isSecret) = (value, true, true)
        case .link(let value, let address): (text, link) = (value, address)
        case .moment(let value): moment = value.map(PageValue.moment) ?? false
        case .tag(let value, let good): (text, isTag, isGood) = (value, true, good)
        case .tone(let value, let tone):
            (text, isTag, isGood, isWrong) = (value, true, tone == .good, tone == .wrong)
        case .tick(let value, let label): tick = ["value": .text(value), "label": .text(label)]
        case .action(let value, let address): (text, link, isAction) = (value, address, true)
        case .several: break
        }
        return [
            "label": .text(label), "text": .optional(text), "link": .optional(link), "moment": moment,
            "isEmpty": .flag((text ?? "").isEmpty && !moment.isShown && !tick.isShown), "tick": tick,
            "isCode": .flag(isCode), "isTag": .flag(isTag), "isGood": .flag(isGood), "isWrong": .flag(isWrong),
            "isAction": .flag(isAction), "isSecret": .flag(isSecret),
        ]
    }

    /// The value in a CSV file; nil if it is only on the page.
    var plain: String? {
        switch self {
        case .text(let text): text ?? ""
        case .code(let text), .secret(let text), .link(let text, _), .tag(let text, _), .tone(let text, _): text
        case .moment(let moment): moment?.rfc3339 ?? ""
        case .action, .tick: nil
        case .several(let cells): cells.compactMap(\.plain).joined(separator: " ")
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
                    [
                        "cells": .list(
                            zip(row, columns).map { cell, label in
                                ["label": .text(label), "parts": .list(cell.parts.map { $0.values(label) })]
                            })
                    ]
                }),
            "empty": .text(empty),
        ]
    }
}

/// A form that changes something. It posts to `/operator/change`; for ticked rows, that page asks for confirmation.
struct OperatorForm: Sendable {
    struct Field: Sendable {
        enum Kind: Sendable {
            case line
            /// One value per line.
            case lines
            case tick
        }

        var kind: Kind
        var name: String
        var label: String
        var value = ""
        var isTicked = false
        var hint: String?
        /// Suggestions that a browser offers while typing.
        var suggestions: [String] = []
    }

    var link: String
    var isOfTicks = false
    var hidden: [(name: String, value: String)]
    var fields: [Field] = []
    var button: String
    var isDanger: Bool

    var values: PageValue {
        [
            "link": .text(link), "isOfTicks": .flag(isOfTicks), "hidden": .hidden(hidden), "button": .text(button),
            "isDanger": .flag(isDanger),
            "fields": .list(
                fields.map { field in
                    [
                        "name": .text(field.name), "label": .text(field.label), "value": .text(field.value),
                        "isLine": .flag(field.kind == .line), "isLines": .flag(field.kind == .lines),
                        "isTick": .flag(field.kind == .tick), "isTicked": .flag(field.isTicked),
                        "hint": .optional(field.hint),
                        "list": .optional(field.suggestions.isEmpty ? nil : "list-\(field.name)"),
                        "options": .list(field.suggestions.map { ["value": .text($0)] }),
                    ]
                }),
        ]
    }
}
