/// A JSON value (RFC 8259 §3). Strings compare by code points, not by canonical equivalence.
///
/// There is no `nil` literal: `nil` means that there is no member, `.null` that its value is null.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(ExactText(text: value))
        case .array(let values): hasher.combine(values)
        case .object(let object): hasher.combine(object)
        }
    }

    package static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    package static func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}

/// Each is nil when the value is of another kind.
extension JSONValue {
    package var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// An integer written without fraction or exponent that fits `Int64`.
    package var int64Value: Int64? { if case .number(let value) = self { value.int64 } else { nil } }
    package var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The texts of an array that has nothing else.
    package var textsValue: [String]? {
        guard case .array(let values) = self else { return nil }
        let texts = values.compactMap(\.stringValue)
        return texts.count == values.count ? texts : nil
    }

    package var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }
    package var isNull: Bool { if case .null = self { true } else { false } }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

/// A JSON number as written (RFC 8259 §6): the literal is kept, so nothing is lost between reading and writing.
package struct JSONNumber: Hashable, Sendable {
    /// The literal, valid by the grammar of RFC 8259 §6.
    package let literal: String

    /// - Parameter grammatical: a literal that the caller has checked against the grammar.
    init(grammatical literal: String) { self.literal = literal }

    package init(_ value: Int64) { self.literal = String(value) }

    /// The exact integer; nil for a fraction, an exponent (`1.0`, `1e3`) or anything outside `Int64`.
    package var int64: Int64? { Int64(literal) }

    /// The nearest double; nil when that is not finite (`1e999`).
    package var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

extension String {
    /// Whether both are the same sequence of code points.
    ///
    /// `==` on `String` is Unicode canonical equivalence: U+212A KELVIN SIGN equals "K". Protocol texts (JSON member
    /// names, `kid`, `aud`) are compared code unit by code unit (RFC 8259 §8.3), which is what this does.
    package func isExactly(_ other: String) -> Bool {
        let (left, right) = (utf8.span, other.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}

/// A string that hashes and compares by its code units, for sets of protocol names.
struct ExactText: Hashable {
    let text: String

    static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
