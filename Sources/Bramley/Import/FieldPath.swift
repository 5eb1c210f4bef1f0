internal import Coding

/// Where an export has a value: the names of members from the outside in, with dots between them.
struct FieldPath: Hashable, Sendable, ExpressibleByStringLiteral {
    private let names: [String]

    init(stringLiteral text: String) {
        names = text.split(separator: ".").map(String.init)
    }

    /// Nil where the path leads nowhere, or to null.
    func value(in object: JSONObject) -> JSONValue? {
        var value = JSONValue.object(object)
        for name in names {
            guard let next = value.objectValue?[name] else { return nil }
            value = next
        }
        if value.isNull { return nil }
        return value
    }
}

extension [FieldPath] {
    /// Of the first that leads to a value.
    func value(in object: JSONObject) -> JSONValue? {
        for path in self {
            if let value = path.value(in: object) { return value }
        }
        return nil
    }

    /// Whether one leads to something that is neither false, nor zero, nor empty.
    func hasSomething(in object: JSONObject) -> Bool {
        contains { path in
            switch path.value(in: object) {
            case nil, .null, false, 0, "": false
            case .array(let values): !values.isEmpty
            case .object(let members): !members.isEmpty
            default: true
            }
        }
    }
}
