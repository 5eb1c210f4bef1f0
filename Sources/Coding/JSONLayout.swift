/// JSON for people: indented by four spaces, lists of plain values on one line, a newline at the end.
///
/// For files on disk. `JSONWriter` writes what is sent over the network, and what may be inside HTML.
package enum JSONLayout {
    package static func text(_ value: JSONValue) -> String {
        rendered(value, indentation: "") + "\n"
    }

    private static func rendered(_ value: JSONValue, indentation: String) -> String {
        let inner = indentation + "    "
        switch value {
        case .null: return "null"
        case .bool(let flag): return flag ? "true" : "false"
        case .number(let number): return number.literal
        case .string(let text): return quoted(text)
        case .array(let elements) where elements.allSatisfy(isPlain):
            return "[" + elements.map { rendered($0, indentation: "") }.joined(separator: ", ") + "]"
        case .array(let elements):
            let lines = elements.map { inner + rendered($0, indentation: inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indentation)]"
        case .object(let object) where object.isEmpty:
            return "{}"
        case .object(let object):
            let lines = object.members.map { member in
                "\(inner)\(quoted(member.name)): \(rendered(member.value, indentation: inner))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        }
    }

    private static func isPlain(_ value: JSONValue) -> Bool {
        value.arrayValue == nil && value.objectValue == nil
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
