/// A half-open range in the bytes a head was parsed from.
package struct ByteRange: Hashable, Sendable {
    package var start: UInt32
    package var end: UInt32

    package static let empty = ByteRange(0, 0)

    /// - Precondition: both fit into 32 bits; a head never comes near.
    package init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }

    package var count: Int { Int(end) - Int(start) }
    package var isEmpty: Bool { start == end }
    package var range: Range<Int> { Int(start)..<Int(end) }
}

extension ByteRange {
    /// Those bytes as text; invalid UTF-8 becomes U+FFFD.
    package func string(in bytes: Span<UInt8>) -> String {
        let part = bytes.extracting(range)
        if let text = try? UTF8Span(validating: part) {
            return String(copying: text)
        }
        return String(decoding: array(in: bytes), as: UTF8.self)
    }

    /// A copy of those bytes.
    package func array(in bytes: Span<UInt8>) -> [UInt8] {
        let range = self.range
        return [UInt8](capacity: range.count) { output in
            for index in range {
                output.append(bytes[index])
            }
        }
    }
}
