import Coding

/// The strict pass over the configuration file, before swift-configuration reads it.
///
/// swift-configuration cannot list the keys it holds, lets the last of two duplicates win and reads `true` as 1
/// (measured). So the file is parsed here once, strictly, and checked against the table; only values of the right type
/// are passed on.
struct ConfigurationFile {
    /// A larger configuration is a mistake.
    static let maximumBytes = 1_048_576

    let name: String
    let problems: ProblemList
    private(set) var values: [String: FileValue] = [:]
    /// Keys with a refused value, or under a refused name: they are not missing.
    private(set) var refused: Set<String> = []
    /// Whether the file could be read; otherwise missing keys mean nothing.
    private(set) var isReadable = true

    init(name: String, problems: ProblemList) {
        self.name = name
        self.problems = problems
    }

    private var source: ConfigurationSource { .file(name) }

    mutating func markUnreadable() {
        isReadable = false
    }

    mutating func read(_ bytes: [UInt8]) {
        let document: JSONValue
        do {
            document = try JSONReader.parse(bytes, limits: JSONLimits(maximumBytes: Self.maximumBytes, maximumDepth: 8))
        } catch {
            let place = TextPosition(of: error.offset, in: bytes)
            isReadable = false
            let start = "line \(place.line), column \(place.column): "
            if error.reason == .trailingComma {
                add("", start + "trailing comma.", "Remove it: JSON has a comma only between two values.")
            } else {
                add("", "\(start)\(error.reason.rawValue).", "Write one JSON object, as config.example.json.")
            }
            return
        }
        guard let object = document.objectValue else {
            isReadable = false
            add("", "does not hold a JSON object.", "Write one JSON object, as config.example.json.")
            return
        }
        readGroup(object, path: "")
    }

    private mutating func readGroup(_ object: JSONObject, path: String) {
        for member in object.members {
            if path.isEmpty, member.name.isExactly(ConfigurationTable.schemaMember) {
                checkSchemaMember(member.value)
                continue
            }
            let name = path.isEmpty ? member.name : "\(path).\(member.name)"
            // A dotted member name is not the same as a group: `{"apple.teamID": …}` would pass as known.
            let known = member.name.contains(".") ? nil : ConfigurationTable.byName[name]
            if let key = known {
                if KeyAdmission(problems: problems).admits(key, from: source), let value = value(member.value, for: key)
                {
                    values[name] = value
                } else {
                    refused.insert(name)
                }
            } else if ConfigurationTable.groups.contains(name), !member.name.contains(".") {
                if let group = member.value.objectValue {
                    readGroup(group, path: name)
                } else {
                    add(
                        name, "is a group of keys, not a value.",
                        "Write an object with its keys; \(Self.keys(of: name)).")
                }
            } else {
                refuseUnknown(name, dotted: member.name.contains("."))
            }
        }
    }

    /// Only for editors, which look for the schema there.
    private func checkSchemaMember(_ value: JSONValue) {
        guard value.stringValue == nil else { return }
        add(
            ConfigurationTable.schemaMember, "is \(Self.description(of: value, for: .text)) where a text is expected.",
            "Write \"\(ConfigurationSchema.fileName)\", or remove it.")
    }

    private mutating func refuseUnknown(_ name: String, dotted: Bool) {
        let remedy: String
        if dotted, ConfigurationTable.byName[name] != nil {
            refused.insert(name)
            remedy = "Write the key inside its group, as {\"apple\": {\"teamID\": …}}."
        } else if let nearest = ConfigurationTable.nearest(to: name, among: ConfigurationTable.keys.map(\.name)) {
            refused.insert(nearest)
            remedy = "Did you mean \(nearest)?"
        } else {
            remedy = "Remove it; docs/configuration.md lists every key."
        }
        add(name, "is not a configuration key.", remedy)
    }

    private static func keys(of group: String) -> String {
        let names = ConfigurationTable.keys.map(\.name).filter { $0.hasPrefix(group + ".") }
        return names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    }

    /// The value if it has the key's type; otherwise nil, and a problem.
    private func value(_ value: JSONValue, for key: ConfigurationKey) -> FileValue? {
        switch (key.type, value) {
        case (.text, .string(let text)), (.choice, .string(let text)):
            return .text(text)
        case (.length, .string(let text)):
            // Digits in quotation marks are not a number here either.
            if Int(text) == nil { return .text(text) }
        case (.integer, .number(let number)):
            if let integer = number.int64.flatMap({ Int(exactly: $0) }) { return .integer(integer) }
        case (.length, .number(let number)):
            if let integer = number.int64 { return .text(String(integer)) }
        case (.boolean, .bool(let flag)):
            return .boolean(flag)
        case (.list, .string(let text)) where key.acceptsOneText:
            return .list([text])
        case (.list, .array(let elements)):
            let texts = elements.compactMap(\.stringValue)
            if texts.count == elements.count { return .list(texts) }
        default:
            break
        }
        add(
            key.name, "is \(Self.description(of: value, for: key.type)) where \(key.type.expectation) is expected.",
            key.advice)
        return nil
    }

    private static func description(of value: JSONValue, for type: KeyType) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .array where type == .list: "a list with an entry that is not a string"
        case .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }

    private func add(_ key: String, _ fault: String, _ remedy: String) {
        problems.add(ConfigurationProblem(key: key, source: name, fault: fault, remedy: remedy))
    }
}

/// A position in a text, as editors count it.
struct TextPosition {
    var line = 1
    var column = 1

    init(of offset: Int, in bytes: [UInt8]) {
        for byte in bytes.prefix(offset) {
            if byte == 0x0A {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
    }
}

extension KeyType {
    /// "a whole number"
    var expectation: String {
        switch self {
        case .text: "a text"
        case .integer(let range, let unit):
            "a whole number\(unit.isEmpty ? "" : " of \(unit)") from \(range.lowerBound) to \(range.upperBound)"
        case .boolean: "true or false"
        case .list: "a list of texts"
        case .choice(let words): "one of \(words.joined(separator: ", "))"
        case .length(let range): "a whole number from \(range.lowerBound) to \(range.upperBound), or \"100%\","
        }
    }
}

extension ConfigurationKey {
    /// The meaning for a terminal, without Markdown.
    var plainMeaning: String {
        meaning.replacing("`", with: "").replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
    }

    /// What to write, as a sentence.
    var advice: String {
        if let example { return "Write \(example)." }
        return switch (type, presence.value) {
        case (.integer, .integer(let value)?), (.length, .integer(let value)?):
            "Write only digits, such as \(value)."
        case (.integer(let range, _), _), (.length(let range), _):
            "Write only digits, such as \(range.upperBound)."
        case (.boolean, _): "Write true or false, without quotation marks."
        case (.list, _): "Write texts in square brackets, such as [\"one\", \"two\"], or []."
        case (.choice(let words), _): "Write \"\(words.first ?? "")\"."
        case (.text, _): "Write it in quotation marks."
        }
    }
}
