import Coding

/// Named values in order: a query, or a form body.
typealias FormFields = [FormField]

extension [FormField] {
    /// - Parameter plusIsSpace: true for `application/x-www-form-urlencoded` bodies. False for the query of
    ///   `/auth/authorize`, where Apple requires a space as `%20`.
    init(parsing text: some StringProtocol, plusIsSpace: Bool) {
        let text = plusIsSpace ? String(text) : String(text).replacing("+", with: "%2B")
        let limits = FormLimits(maximumBytes: .max, maximumFields: .max)
        self = (try? FormDecoder.parse([UInt8](text.utf8), limits: limits)) ?? []
    }

    /// The first value with that name.
    subscript(name: String) -> String? {
        first { $0.name == name }?.value
    }

    /// A non-empty value: absent and empty are the same.
    func text(_ name: String) -> String? {
        self[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The first repeated name.
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
