package import Coding
import Synchronization

/// Whether caches may answer instead of the database: whether the writes of other processes were read recently.
package final class CacheTrust: Sendable {
    /// The value of `lastRead` when there are no other processes.
    private static let always = Int64.max

    private let lastRead = Atomic<Int64>(CacheTrust.always)
    private let isAsked = Atomic(false)
    /// How long one read is trusted, in milliseconds.
    let length: Int64

    package init(for length: Int64 = 1_000) { self.length = length }

    /// Records that at `now` the caches had evicted everything other processes had changed. Called at least every
    /// second; without any call, they are always trusted.
    package func renew(at now: Timestamp) { lastRead.store(now.milliseconds, ordering: .releasing) }

    /// Ends the trust until the next call of `renew`.
    func end() { lastRead.store(Int64.min, ordering: .releasing) }

    /// Whether a read succeeded recently. A clock that was set, in either direction, ends the trust until the next one.
    package func holds(at now: Timestamp) -> Bool {
        let read = lastRead.load(ordering: .acquiring)
        if read == Self.always { return true }
        if !isAsked.load(ordering: .relaxed) { isAsked.store(true, ordering: .relaxed) }
        let age = now.milliseconds &- read
        return age <= length && age >= -length
    }

    /// Whether the trust was used since the last call; otherwise nobody needs it.
    func consumeAsked() -> Bool { isAsked.exchange(false, ordering: .relaxed) }
}
