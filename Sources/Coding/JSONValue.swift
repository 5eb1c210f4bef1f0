/// A JSON value (RFC 8259 §3). Strings compare by code points, not by canonical equivalence.
///
/// Of all literals only `nil` is none: it says that there is no member, and `.null` that its value is null.
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

    /// An exact integer.
    package static func integer(_ value: Int64) -> JSONValue {
        .number(JSONNumber(value))
    }
}

/// Each is nil when the value is of another kind.
extension JSONValue {
    package var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// An integer written without fraction or exponent that fits `Int64`.
    package var int64Value: Int64? {
        if case .number(let value) = self { value.int64 } else { nil }
    }

    package var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    package var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    package var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}
