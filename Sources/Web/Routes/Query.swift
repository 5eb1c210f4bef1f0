import Coding
import HTTP

/// The parameters of a query or a small form.
struct Query: Sendable {
    private let fields: [FormField]
    /// Whether everything that was given is included. Where a parameter restricts what is allowed, its absence means
    /// nothing otherwise.
    let isWhole: Bool

    /// More than 32 parameters, or 16 KiB of them, are ignored entirely.
    init(_ request: ServerRequest) {
        self.init(Array((request.query ?? "").utf8))
    }

    init(_ bytes: [UInt8]) {
        let parsed = try? FormDecoder.parse(bytes, limits: FormLimits(maximumBytes: 16_384, maximumFields: 32))
        fields = parsed ?? []
        isWhole = parsed != nil
    }

    /// The values given for one name.
    enum Value: Hashable, Sendable {
        case absent
        case one(String)
        case several

        /// The only value; nil for none or several.
        var text: String? { if case .one(let text) = self { text } else { nil } }
    }

    func value(_ name: String) -> Value {
        var found = Value.absent
        for field in fields where field.name.isExactly(name) {
            guard case .absent = found else { return .several }
            found = .one(field.value)
        }
        return found
    }

    /// The values of names that begin like this.
    func names(beginningWith prefix: String) -> [String] {
        fields.lazy.map(\.name).filter { $0.utf8.starts(with: prefix.utf8) }
    }

    /// Whether the parameter is given exactly once, as `true`.
    func isTrue(_ name: String) -> Bool { value(name) == .one("true") }
}
