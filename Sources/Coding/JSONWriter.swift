/// Builds compact JSON, member by member, in the order of the calls.
///
/// Besides what RFC 8259 §7 requires, `<`, `>`, `&`, U+2028 and U+2029 are escaped, so that the text may be inside an
/// HTML script element. The same calls always give the same bytes. It adds commas; the caller balances each `begin…`
/// with its `end…`, and calls `name` before each value in an object.
package struct JSONWriter: Sendable {
    /// The text so far, or since `takeBytes`.
    package private(set) var bytes: [UInt8] = []
    /// A value was written at this level, so the next one needs a comma first.
    private var needsComma = false

    package init(reserving capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// The text since the last call, which is then no longer held: for content that is sent while it is written.
    package mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// An object of the members that `write` writes.
    package mutating func object(_ write: (inout JSONWriter) -> Void) {
        beginObject()
        write(&self)
        endObject()
    }

    /// The same as a whole text.
    package static func object(reserving capacity: Int = 256, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        writer.object(write)
        return writer.bytes
    }

    package mutating func name(_ name: String) {
        separate()
        appendQuoted(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func write(_ value: String) {
        separate()
        appendQuoted(value)
        needsComma = true
    }

    package mutating func write(_ value: Int64) { appendWord(String(value)) }
    package mutating func write(_ value: Bool) { appendWord(value ? "true" : "false") }
    package mutating func writeNull() { appendWord("null") }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: writeNull()
        case .bool(let value): write(value)
        case .number(let value): appendWord(value.literal)
        case .string(let value): write(value)
        case .array(let elements):
            beginArray()
            for element in elements { write(element) }
            endArray()
        case .object(let object):
            self.object { writer in
                for member in object.members {
                    writer.name(member.name)
                    writer.write(member.value)
                }
            }
        }
    }

    package mutating func write(_ object: JSONObject) { write(.object(object)) }

    /// A member; null when the value is nil.
    package mutating func member(_ name: String, _ value: String?) { member(name, json: value.map { .string($0) }) }
    package mutating func member(_ name: String, _ value: Int64?) { member(name, json: value.map { .integer($0) }) }
    package mutating func member(_ name: String, _ value: Bool?) { member(name, json: value.map { .bool($0) }) }

    private mutating func member(_ name: String, json value: JSONValue?) {
        self.name(name)
        write(value ?? .null)
    }

    /// A time as RFC 3339; null when nil.
    package mutating func member(_ name: String, _ value: Timestamp?) { member(name, value?.rfc3339) }

    package static func encode(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(value)
        return writer.bytes
    }

    package static func encode(_ object: JSONObject) -> [UInt8] { encode(.object(object)) }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func appendWord(_ word: String) {
        separate()
        bytes.append(contentsOf: word.utf8)
        needsComma = true
    }

    private mutating func appendQuoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            case "\n": appendEscape("n")
            case "\r": appendEscape("r")
            case "\t": appendEscape("t")
            case "\u{0}"..."\u{1F}", "\u{7F}", "<", ">", "&", "\u{2028}", "\u{2029}":
                appendUnicodeEscape(UInt16(truncatingIfNeeded: scalar.value))
            default: bytes.append(contentsOf: scalar.utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ letter: Unicode.Scalar) {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: letter))
    }

    private mutating func appendUnicodeEscape(_ unit: UInt16) {
        appendEscape("u")
        for shift in [12, 8, 4, 0] as [UInt16] {
            bytes.append(Hexadecimal.lower(UInt8(truncatingIfNeeded: unit >> shift)))
        }
    }
}

/// JSON for people: indented by four spaces, lists of plain values on one line, a newline at the end.
///
/// For files on disk. `JSONWriter` writes what is sent over the network, and what may be inside HTML.
package enum JSONLayout {
    package static func text(_ value: JSONValue) -> String { rendered(value, indentation: "") + "\n" }

    private static func rendered(_ value: JSONValue, indentation: String) -> String {
        let inner = indentation + "    "
        switch value {
        case .null: return "null"
        case .bool(let flag): return flag ? "true" : "false"
        case .number(let number): return number.literal
        case .string(let text): return quoted(text)
        case .array(let elements) where elements.allSatisfy { $0.arrayValue == nil && $0.objectValue == nil }:
            return "[" + elements.map { rendered($0, indentation: "") }.joined(separator: ", ") + "]"
        case .array(let elements):
            let lines = elements.map { inner + rendered($0, indentation: inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indentation)]"
        case .object(let object) where object.isEmpty: return "{}"
        case .object(let object):
            let lines = object.members.map { member in
                "\(inner)\(quoted(member.name)): \(rendered(member.value, indentation: inner))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        }
    }

    /// Escapes what RFC 8259 §7 requires, and nothing else.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
