/// How long the peer of a streamed response may go on not taking it, over all its chunks.
///
/// A deadline for each chunk alone would let a reader take each at the last moment, for as long as there are chunks. So
/// the time that was waited counts together, and only what the peer takes earns some of it back: below
/// `minimumRate` on average it ends. What the producer of the chunks takes is not waiting.
package struct WritePatience: Hashable, Sendable {
    /// Bytes a second that no reader may stay below for long.
    package static let minimumRate: Int64 = 8192

    private let most: Int64
    /// Milliseconds.
    package private(set) var left: Int64

    /// - Parameter milliseconds: without a byte taken; `ServerTimeouts.write`.
    package init(_ milliseconds: Int64) {
        most = milliseconds
        left = milliseconds
    }

    /// - Parameter waited: milliseconds until the bytes were taken.
    package mutating func record(bytes: Int, waited: Int64) {
        left = max(0, min(most, left - waited + Int64(bytes) * 1000 / Self.minimumRate))
    }
}
