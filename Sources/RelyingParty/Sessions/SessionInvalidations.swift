package import Coding
package import Crypto
import Synchronization

/// The list through which writes tell every loop's cache what is no longer valid.
///
/// A writer calls `append` after COMMIT and before it answers anyone. A loop compares `generation` on every hit (one
/// atomic load) and, when it has moved, applies the new entries. A fill is stored only if the generation has not moved
/// since before its read. So the very next check in this process refuses a revoked session.
package final class SessionInvalidations: Sendable {
    /// What became invalid.
    package enum Entry: Hashable, Sendable {
        case token(Digest256)
        case user(UserID)
        /// Everything: what changed is unknown.
        case all
    }

    private struct Journal {
        var first: UInt64 = 0
        var entries: [Entry] = []
    }

    /// How long one poll of other processes' writes is trusted unless the store says otherwise, in milliseconds.
    package static let defaultTrust: Int64 = 1_000

    /// The value of `lastLook` when there are no other processes.
    private static let always = Int64.max

    private let counter = Atomic<UInt64>(0)
    private let lastLook = Atomic<Int64>(SessionInvalidations.always)
    private let journal = Mutex(Journal())
    private let isAsked = Atomic(false)
    private let trust: Int64
    private let capacity: Int

    /// - Parameters:
    ///   - trust: how long one poll of other processes' writes is trusted, in milliseconds.
    ///   - capacity: entries kept; a loop that is further behind drops its whole cache.
    package init(trust: Int64 = SessionInvalidations.defaultTrust, capacity: Int = 4096) {
        self.trust = trust
        self.capacity = capacity
    }

    /// Records that at `now` the list contained everything other processes had written. A store that shares its
    /// database calls it at least every second; without any call, the caches are always trusted.
    package func trust(at now: Timestamp) {
        lastLook.store(now.milliseconds, ordering: .releasing)
    }

    /// Ends the trust until the next call of `trust`.
    package func distrust() {
        lastLook.store(Int64.min, ordering: .releasing)
    }

    /// Whether a cache may answer at `now`: a poll of other processes' writes succeeded recently. A clock that
    /// was set, in either direction, ends the trust until the next poll.
    package func isTrusted(at now: Timestamp) -> Bool {
        let look = lastLook.load(ordering: .acquiring)
        if look == Self.always { return true }
        if !isAsked.load(ordering: .relaxed) { isAsked.store(true, ordering: .relaxed) }
        let age = now.milliseconds &- look
        return age <= trust && age >= -trust
    }

    /// Whether anybody has asked for trust since the last call: otherwise nobody needs it.
    package func takeAsked() -> Bool { isAsked.exchange(false, ordering: .relaxed) }

    /// The number of entries ever appended.
    package var generation: UInt64 {
        counter.load(ordering: .acquiring)
    }

    package func append(_ entries: [Entry]) {
        guard !entries.isEmpty else { return }
        journal.withLock { journal in
            journal.entries.append(contentsOf: entries)
            let surplus = journal.entries.count - capacity
            if surplus > 0 {
                journal.entries.removeFirst(surplus)
                journal.first += UInt64(surplus)
            }
            counter.store(journal.first + UInt64(journal.entries.count), ordering: .releasing)
        }
    }

    /// The entries after `generation`, and the generation they lead to; `[.all]` when some are no longer kept.
    package func entries(after generation: UInt64) -> (entries: [Entry], generation: UInt64) {
        journal.withLock { journal in
            let end = journal.first + UInt64(journal.entries.count)
            guard generation >= journal.first else { return ([.all], end) }
            guard generation < end else { return ([], end) }
            // A copy: storage shared with the journal would be copied whole by the next append.
            return (journal.entries[Int(generation - journal.first)...].map(\.self), end)
        }
    }
}
