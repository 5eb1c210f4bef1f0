extension String {
    /// Whether both are the same sequence of code points.
    ///
    /// `==` on `String` is Unicode canonical equivalence: U+212A KELVIN SIGN equals "K". Protocol texts (JSON member
    /// names, `kid`, `aud`) are compared code unit by code unit (RFC 8259 §8.3), which is what this does.
    package func isExactly(_ other: String) -> Bool {
        let (left, right) = (utf8.span, other.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}

/// A string that hashes and compares by its code units, for sets of protocol names.
struct ExactText: Hashable {
    let text: String

    static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.isExactly(right.text)
    }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
