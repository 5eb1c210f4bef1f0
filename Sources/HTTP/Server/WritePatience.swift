/// How long the peer of a streamed response may fail to take it, over all its chunks.
///
/// A deadline for each chunk would let a reader take each at the last moment, as long as there are chunks. So the
/// waiting time is added up, and only bytes that the peer takes earn some of it back: below `minimumRate` on average
/// the response ends. The producer's own time is not counted.
package struct WritePatience: Hashable, Sendable {
    /// The rate that a reader must not stay below for long, in bytes per second.
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
