package import Coding
import Synchronization

/// Whether caches may answer for the database: how long ago it was read what other processes have written.
package final class CacheTrust: Sendable {
    /// The value of `lastLook` when there are no other processes.
    private static let always = Int64.max

    private let lastLook = Atomic<Int64>(CacheTrust.always)
    private let isAsked = Atomic(false)
    /// How long one look is trusted, in milliseconds.
    let length: Int64

    package init(for length: Int64 = 1_000) { self.length = length }

    /// Records that at `now` the caches had forgotten everything other processes had changed. Called at least every
    /// second; without any call, they are always trusted.
    package func renew(at now: Timestamp) { lastLook.store(now.milliseconds, ordering: .releasing) }

    /// Ends the trust until the next call of `renew`.
    func end() { lastLook.store(Int64.min, ordering: .releasing) }

    /// Whether a look succeeded recently. A clock that was set, in either direction, ends the trust until the next one.
    package func holds(at now: Timestamp) -> Bool {
        let look = lastLook.load(ordering: .acquiring)
        if look == Self.always { return true }
        if !isAsked.load(ordering: .relaxed) { isAsked.store(true, ordering: .relaxed) }
        let age = now.milliseconds &- look
        return age <= length && age >= -length
    }

    /// Whether anybody has asked since the last call: otherwise nobody needs it.
    func takeAsked() -> Bool { isAsked.exchange(false, ordering: .relaxed) }
}
