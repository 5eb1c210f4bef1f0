/// A value for templates.
///
/// Escaping belongs to the value, not to the braces around its name: `text` is always escaped, and `html`, which our
/// other templates made, never is.
enum PageValue: Sendable {
    case text(String)
    case html(String)
    case flag(Bool)
    case list([PageValue])
    case object([String: PageValue])

    /// Text, or nothing: its sections are skipped when nil.
    static func optional(_ text: String?) -> PageValue {
        text.map { .text($0) } ?? .flag(false)
    }

    /// Members of both, with precedence for `other`; objects are merged member by member.
    func merging(_ other: PageValue) -> PageValue {
        guard case .object(let own) = self, case .object(let others) = other else { return other }
        return .object(own.merging(others) { $0.merging($1) })
    }

    /// Of an object; nil when it has no such member.
    func member(_ name: String) -> PageValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// Whether its section is rendered: everything except false and the empty list.
    var isShown: Bool {
        switch self {
        case .flag(let flag): flag
        case .list(let elements): !elements.isEmpty
        case .text, .html, .object: true
        }
    }
}

extension PageValue: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral, ExpressibleByBooleanLiteral {
    init(stringLiteral value: String) { self = .text(value) }
    init(booleanLiteral value: Bool) { self = .flag(value) }
    init(dictionaryLiteral elements: (String, PageValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
