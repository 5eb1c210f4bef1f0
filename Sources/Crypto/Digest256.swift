internal import Coding

/// 256 bits, such as a SHA-256 digest, as four words in big-endian order.
package struct Digest256: Hashable, Sendable {
    package static let size = 32
    package var words: (UInt64, UInt64, UInt64, UInt64)

    package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    /// - Parameter bytes: exactly 32, most significant first; otherwise nil.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        func word(_ start: Int) -> UInt64 { UInt64(bigEndianBytes: bytes[start..<start + 8]) }
        words = (word(0), word(8), word(16), word(24))
    }

    /// All 32, most significant first.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 32) { bytes in
            func append(_ word: UInt64) {
                for shift in stride(from: UInt64(56), through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: word >> shift))
                }
            }
            append(words.0)
            append(words.1)
            append(words.2)
            append(words.3)
        }
        return bytes
    }

    /// 64 lower-case digits.
    package var hexadecimal: String { Hexadecimal.encode(bytes) }

    package static func == (left: Digest256, right: Digest256) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
