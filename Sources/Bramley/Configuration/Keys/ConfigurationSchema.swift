import Coding

/// The JSON Schema (2020-12) of the file, for editors. Rules about a second key or the machine are `bramley check`'s.
package enum ConfigurationSchema {
    /// Written next to the configuration by `bramley init`.
    package static let fileName = "config.schema.json"

    package static var text: String { JSONLayout.text(.object(document)) }

    static var document: JSONObject {
        var root: JSONObject = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Bramley's configuration",
            "description": """
            For a complete file. Keys given in the environment or as flags may be missing from it. Written by \
            `bramley check --schema`.
            """,
        ]
        for member in group("").members { root[member.name] = member.value }
        return root
    }

    /// - Parameter path: a group's dotted name; empty for the whole file.
    private static func group(_ path: String) -> JSONObject {
        let prefix = path.isEmpty ? "" : path + "."
        var properties = JSONObject()
        if path.isEmpty {
            properties[ConfigurationTable.schemaMember] = [
                "type": "string", "description": "Where editors find this schema. It sets nothing.",
            ]
        }
        var required: [JSONValue] = []
        var conditions: [JSONValue] = []
        for key in ConfigurationTable.keys where key.name.hasPrefix(prefix) {
            let rest = key.name.dropFirst(prefix.count)
            let name = String(rest.prefix { $0 != "." })
            if name.utf8.count < rest.utf8.count {
                if properties[name] == nil {
                    let inner = group(prefix + name)
                    properties[name] = .object(inner)
                    let isEither = inner["allOf"]?.arrayValue?.contains { $0.objectValue?["oneOf"] != nil } == true
                    if inner["required"] != nil || isEither { required.append(.string(name)) }
                }
                continue
            }
            properties[name] = .object(value(key))
            if key.presence == .required { required.append(.string(name)) }
            if let condition = condition(key, named: name, prefix: prefix) { conditions.append(condition) }
        }
        var schema: JSONObject = ["type": "object", "additionalProperties": false]
        schema["properties"] = .object(properties)
        if !required.isEmpty { schema["required"] = .array(required) }
        if !conditions.isEmpty { schema["allOf"] = .array(conditions) }
        return schema
    }

    /// Exactly one, or at most one, of two spellings: stated once, at the one that is not a secret itself.
    private static func condition(_ key: ConfigurationKey, named name: String, prefix: String) -> JSONValue? {
        guard let twin = key.twin, twin.hasPrefix(prefix), ConfigurationTable.byName[twin] != nil,
            key.name.contains("File")
        else { return nil }
        let other = JSONValue.string(String(twin.dropFirst(prefix.count)))
        let this = JSONValue.string(name)
        guard key.presence == .requiredUnlessTwin else { return ["not": ["required": [this, other]]] }
        return ["oneOf": [["required": [this]], ["required": [other]]]]
    }

    private static func value(_ key: ConfigurationKey) -> JSONObject {
        var schema = type(key)
        schema["description"] = .string(description(key))
        if let value = key.presence.value { schema["default"] = value.json }
        if key.isSecret { schema["writeOnly"] = true }
        return schema
    }

    private static func type(_ key: ConfigurationKey) -> JSONObject {
        switch key.type {
        case .text:
            return [
                "type": "string",
                "pattern": .string(key.pattern ?? (key.isSecret || key.holdsLines ? #"\S"# : plainText)),
            ]
        case .integer(let range, _): return number(range)
        case .boolean: return ["type": "boolean"]
        case .choice(let words): return ["enum": .texts(words)]
        case .length(let range): return ["anyOf": [.object(number(range)), ["const": "100%"]]]
        case .list:
            var entry: JSONObject = ["type": "string", "minLength": 1]
            if let words = key.entries {
                let word: JSONObject = ["enum": .texts(words)]
                entry =
                    key.pattern.map { ["anyOf": [.object(word), ["type": "string", "pattern": .string($0)]]] } ?? word
            }
            var list: JSONObject = ["type": "array", "items": .object(entry)]
            if !key.mayRepeat { list["uniqueItems"] = true }
            // An empty list would lose the entries of its default.
            if case .list(let texts)? = key.presence.value, !texts.isEmpty { list["minItems"] = 1 }
            return key.acceptsOneText ? ["anyOf": [.object(entry), .object(list)]] : list
        }
    }

    private static let plainText =
        #"^[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F]"#
        + #"[^\u0000-\u001F\u007F-\u009F]*$"#

    private static func number(_ range: ClosedRange<Int>) -> JSONObject {
        ["type": "integer", "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound))]
    }

    private static func description(_ key: ConfigurationKey) -> String {
        var text = key.plainMeaning
        if case .integer(_, let unit) = key.type, !unit.isEmpty { text += " In \(unit)." }
        if case .derived(let words) = key.presence { text += " Without it: \(words)." }
        if let twin = key.twin, key.isSecret || key.holdsLines { text += " Instead of \(twin)." }
        return text
    }
}
