import Mustache

/// What a template may show.
///
/// Escaping belongs to the value and not to the braces around its name: `text` reaches a template escaped, whether it
/// writes two braces or three, and only `html` (made by other templates of ours) does not.
enum PageValue: Sendable {
    case text(String)
    case html(String)
    case flag(Bool)
    case list([PageValue])
    case object([String: PageValue])

    /// Text, or nothing: sections of it are skipped when nil.
    static func optional(_ text: String?) -> PageValue {
        text.map { .text($0) } ?? .flag(false)
    }

    /// Members of both, those of `other` winning; objects are merged member by member.
    func merging(_ other: PageValue) -> PageValue {
        guard case .object(let own) = self, case .object(let others) = other else { return other }
        return .object(own.merging(others) { $0.merging($1) })
    }
}

extension PageValue: MustacheParent {
    func child(named name: String) -> Any? {
        guard case .object(let members) = self, let value = members[name] else { return nil }
        switch value {
        case .text(let text): return HTMLText.escape(text)
        case .html(let html): return html
        case .flag(let flag): return flag
        case .list(let elements): return elements
        case .object: return value
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
