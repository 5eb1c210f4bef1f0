/// 256 bits: a SHA-256 digest, or anything as long, as four words in big-endian order.
package struct Digest256: Hashable, Sendable {
    package var words: (UInt64, UInt64, UInt64, UInt64)

    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    package static func == (left: Digest256, right: Digest256) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
