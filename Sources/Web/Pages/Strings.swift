import Coding

/// The texts of one language: nested by page, `{site}` and its like filled in once at start.
struct Strings: Sendable {
    /// For templates, as `t`.
    let tree: PageValue
    private let flat: [String: String]

    /// - Parameters:
    ///   - fallback: texts for what this language's file leaves out.
    ///   - values: what stands for `{name}` in every text.
    init(
        locale: String, files: PageFiles, fallback: Strings?, values: [String: String]
    ) throws(PagesError) {
        let path = "strings/\(locale).json"
        let value: JSONValue
        do {
            value = try JSONReader.parse(try files.bytes(path))
        } catch let error as JSONError {
            throw .strings(path, error.description)
        } catch let error as PagesError {
            throw error
        } catch {
            throw .strings(path, "unreadable")
        }
        var flat = fallback?.flat ?? [:]
        let tree = try Self.tree(value, prefix: "", path: path, values: values, into: &flat)
        self.tree = fallback.map { $0.tree.merging(tree) } ?? tree
        self.flat = flat
    }

    /// The text of a dotted key; the key itself when there is none, which a test rules out for the embedded files.
    subscript(key: String) -> String { flat[key] ?? key }

    func has(_ key: String) -> Bool { flat[key] != nil }

    /// The text with values that differ per request. They are text still: escaped when rendered.
    func text(_ key: String, _ values: [String: String]) -> String {
        Self.fill(self[key], values)
    }

    private static func tree(
        _ value: JSONValue, prefix: String, path: String, values: [String: String], into flat: inout [String: String]
    ) throws(PagesError) -> PageValue {
        switch value {
        case .string(let text):
            let filled = fill(text, values)
            flat[prefix] = filled
            return filled.isEmpty ? .flag(false) : .text(filled)
        case .object(let object):
            var members: [String: PageValue] = [:]
            for member in object.members {
                let key = prefix.isEmpty ? member.name : "\(prefix).\(member.name)"
                members[member.name] = try tree(member.value, prefix: key, path: path, values: values, into: &flat)
            }
            return .object(members)
        default:
            throw .strings(path, "\(prefix.isEmpty ? "the file" : prefix) is neither text nor an object")
        }
    }

    /// Replaces each `{name}` once, left to right: a value is never searched for further names.
    static func fill(_ text: String, _ values: [String: String]) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            rest = rest[open...]
            guard let close = rest.firstIndex(of: "}") else { break }
            let name = String(rest[rest.index(after: open)..<close])
            if let value = values[name] {
                result += value
            } else {
                result += rest[...close]
            }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
