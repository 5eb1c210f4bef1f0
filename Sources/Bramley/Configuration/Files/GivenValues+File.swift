import Coding

// The configuration file, read strictly: no duplicate or unknown names, and only values of their key's type.
extension GivenValues {
    /// A larger file is a mistake, in bytes.
    static let maximumFileBytes = 1_048_576

    mutating func read(file bytes: [UInt8]) {
        let document: JSONValue
        do {
            document = try JSONReader.parse(
                bytes, limits: JSONLimits(maximumBytes: Self.maximumFileBytes, maximumDepth: 8))
        } catch {
            isComplete = false
            let start = "\(error.place(in: bytes)): "
            if error.reason == .trailingComma {
                add("", start + "trailing comma.", "Remove it: JSON allows commas only between values.")
            } else {
                add("", "\(start)\(error.reason.rawValue).", "Write one JSON object, as in config.example.json.")
            }
            return
        }
        guard let object = document.objectValue else {
            isComplete = false
            add("", "is not a JSON object.", "Write one JSON object, as in config.example.json.")
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
                read(member.value, of: key)
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
    private mutating func checkSchemaMember(_ value: JSONValue) {
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
            remedy = "Remove it; docs/reference/configuration.md lists every key."
        }
        add(name, "is not a configuration key.", remedy)
    }

    private static func keys(of group: String) -> String {
        let names = ConfigurationTable.keys.map(\.name).filter { $0.hasPrefix(group + ".") }
        return names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    }

    private mutating func read(_ value: JSONValue, of key: ConfigurationKey) {
        if let value = FileValue(value, as: key.type, acceptsOneText: key.acceptsOneText) {
            values[key.name] = Given(value: value, source: file, isInFile: true)
            return
        }
        refused.insert(key.name)
        add(
            key.name, "is \(Self.description(of: value, for: key.type)) where \(key.type.expectation) is expected.",
            key.advice)
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
}

extension JSONError {
    /// As editors count it: `line 3, column 5`.
    func place(in bytes: [UInt8]) -> String {
        let before = bytes.prefix(offset)
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let characters = before[start...].count { $0 & 0xC0 != 0x80 }
        return "line \(before.count { $0 == 0x0A } + 1), column \(characters + 1)"
    }
}
