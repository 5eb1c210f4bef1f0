/// A JSON number as written (RFC 8259 §6): the literal is kept, so nothing is lost between reading and writing.
package struct JSONNumber: Hashable, Sendable {
    /// The literal, valid by the grammar of RFC 8259 §6.
    package let literal: String

    /// - Parameter grammatical: a literal that the caller has checked against the grammar.
    init(grammatical literal: String) {
        self.literal = literal
    }

    package init(_ value: Int64) {
        self.literal = String(value)
    }

    /// The exact integer; nil for a fraction, an exponent (`1.0`, `1e3`) or anything outside `Int64`.
    package var int64: Int64? {
        Int64(literal)
    }

    /// The nearest double; nil when that is not finite (`1e999`).
    package var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}
