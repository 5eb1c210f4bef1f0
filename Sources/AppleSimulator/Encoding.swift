package import Coding

package typealias JSON = JSONValue

extension JSONValue {
    /// Nil when `bytes` are not JSON. The size is not limited: only the developer's own requests come here.
    package init?(parsing bytes: [UInt8]) {
        let limits = JSONLimits(maximumBytes: .max, maximumDepth: JSONLimits.depthCeiling)
        guard let value = try? JSONReader.parse(bytes, limits: limits) else { return nil }
        self = value
    }

    static func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }

    static func count(_ value: Int?) -> JSON { value.map { .integer(Int64($0)) } ?? .null }

    /// A member of an object; only an object can be given one.
    package subscript(name: String) -> JSON? {
        get { objectValue?[name] }
        set {
            guard case .object(var object) = self else { return }
            object[name] = newValue
            self = .object(object)
        }
    }

    package var members: [JSONObject.Member] { objectValue?.members ?? [] }

    /// A whole number; `1.0` counts, `1.5` does not.
    package var integer: Int64? {
        guard case .number(let number) = self else { return nil }
        return number.int64 ?? number.double.flatMap { Int64(exactly: $0) }
    }

    package var bytes: [UInt8] { JSONWriter.encode(self) }
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func merge(_ object: JSONObject) {
        for member in object.members { self[member.name] = member.value.isNull ? nil : member.value }
    }
}

/// Named values in order: a query, or a form body.
typealias FormFields = [FormField]

extension [FormField] {
    /// - Parameter plusIsSpace: true for `application/x-www-form-urlencoded` bodies. False for the query of
    ///   `/auth/authorize`, where Apple requires a space as `%20`.
    init(parsing text: some StringProtocol, plusIsSpace: Bool) {
        let text = plusIsSpace ? String(text) : String(text).replacing("+", with: "%2B")
        self = (try? FormDecoder.parse([UInt8](text.utf8), maximumBytes: .max, maximumFields: .max)) ?? []
    }

    subscript(name: String) -> String? { first { $0.name == name }?.value }

    /// A non-empty value: absent and empty are the same.
    func text(_ name: String) -> String? { self[name].flatMap { $0.isEmpty ? nil : $0 } }

    var duplicate: String? {
        var seen: Set<String> = []
        return first { !seen.insert($0.name).inserted }?.name
    }

    /// With `%20` for a space, for a query as well as a form.
    var encoded: String {
        map { PercentEncoding.encodeComponent($0.name) + "=" + PercentEncoding.encodeComponent($0.value) }
            .joined(separator: "&")
    }
}
