/// A value for templates. Escaping belongs to it, not to the braces around its name: `text` is always escaped, and
/// `html`, which our other templates made, never is.
enum PageValue: Sendable {
    case text(String)
    case html(String)
    case flag(Bool)
    case list([PageValue])
    case object([String: PageValue])

    /// Text, or nothing: its sections are skipped when nil.
    static func optional(_ text: String?) -> PageValue { text.map { .text($0) } ?? .flag(false) }

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
    init(dictionaryLiteral elements: (String, PageValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

/// Makes text safe between tags and inside quoted attributes.
///
/// Works on UTF-8 bytes, not characters: for Swift, a quotation mark followed by a combining accent is one character
/// that does not equal a quotation mark; for a browser it is a quotation mark.
enum HTMLText {
    static func escape(_ text: String) -> String { String(decoding: escapedBytes(text), as: UTF8.self) }

    static func escapedBytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            // A parser would normalise or drop these; a form must carry them unchanged.
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case 0x0A: bytes.append(contentsOf: "&#10;".utf8)
            case 0x00..<0x20 where byte != 0x09, 0x7F: bytes.append(contentsOf: "\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}
