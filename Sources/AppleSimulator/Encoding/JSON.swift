import FoundationEssentials

/// The simulator's JSON: members keep their order when written.
///
/// Reading uses Foundation's decoder, deliberately different from the server's own strict parser.
package enum JSON: Sendable, Equatable {
    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSON
    }

    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// The order of members carries no meaning (RFC 8259 §4).
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy(right.contains)
        default: false
        }
    }

    /// Nil when `bytes` are not JSON.
    package init?(parsing bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSON.self, from: Data(bytes)) else { return nil }
        self = value
    }

    package subscript(name: String) -> JSON? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.last { $0.name == name }?.value
        }
        set {
            guard case .object(var members) = self else { return }
            if let index = members.lastIndex(where: { $0.name == name }) {
                if let newValue { members[index].value = newValue } else { members.remove(at: index) }
            } else if let newValue {
                members.append(Member(name: name, value: newValue))
            }
            self = .object(members)
        }
    }

    package var members: [Member]? { if case .object(let value) = self { value } else { nil } }
    package var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// A whole number; `1.0` counts, `1.5` does not.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    package var bytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
}

extension JSON {
    /// A string, or null.
    static func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }

    /// Sets the members of an object; null removes one.
    mutating func merge(_ members: [Member]) {
        for member in members {
            if member.value == .null { self[member.name] = nil } else { self[member.name] = member.value }
        }
    }

    private func write(to output: inout [UInt8]) {
        switch self {
        case .null: output += Array("null".utf8)
        case .bool(let value): output += Array((value ? "true" : "false").utf8)
        case .integer(let value): output += Array(String(value).utf8)
        case .number(let value): output += Array((value.isFinite ? String(value) : "null").utf8)
        case .string(let value): Self.write(value, to: &output)
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.write(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Also escapes `<`, `>` and `&`, so that the text may be inside HTML.
    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7f, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                let digits = Array("0123456789abcdef".utf8)
                output += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}

extension JSON: Decodable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            self = .object(
                try container.allKeys.map {
                    Member(name: $0.stringValue, value: try container.decode(JSON.self, forKey: $0))
                })
        } else if var container = try? decoder.unkeyedContainer() {
            var values: [JSON] = []
            while !container.isAtEnd { values.append(try container.decode(JSON.self)) }
            self = .array(values)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .integer(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }
}
