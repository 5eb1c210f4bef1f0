package import Coding
package import Crypto
import Synchronization

/// The list by which a write tells every loop's cache what it may no longer answer.
///
/// A writer calls `append` after COMMIT and before it answers anyone. A loop compares `generation` on every hit (one
/// atomic load) and, when it has moved, drains what it has not seen. A fill is stored only if the generation has not
/// moved since before its read. So a revoked session is refused by the very next check in this process.
package final class SessionInvalidations: Sendable {
    /// What became invalid.
    package enum Entry: Hashable, Sendable {
        case token(Digest256)
        case user(UserID)
        /// Everything: what changed is not known.
        case all
    }

    private struct Journal {
        var first: UInt64 = 0
        var entries: [Entry] = []
    }

    /// How long one look at what other processes wrote is good for, in milliseconds.
    package static let trustLifetime: Int64 = 1_000

    /// Where `lastLook` stands when there are no other processes to look at.
    private static let always = Int64.max

    private let counter = Atomic<UInt64>(0)
    private let lastLook = Atomic<Int64>(SessionInvalidations.always)
    private let journal = Mutex(Journal())
    private let capacity: Int

    /// - Parameter capacity: entries kept; a loop further behind than this drops its whole cache.
    package init(capacity: Int = 4096) {
        self.capacity = capacity
    }

    /// Records that at `now` everything other processes had written was in the list. A store that shares its database
    /// calls it at least every second; one that never does is trusted always.
    package func trust(at now: Timestamp) {
        lastLook.store(now.milliseconds, ordering: .releasing)
    }

    /// Whether a cache may answer at `now`: some look at other processes' writes succeeded within a second. A clock
    /// that was set, in either direction, ends the trust until the next look.
    package func isTrusted(at now: Timestamp) -> Bool {
        let look = lastLook.load(ordering: .acquiring)
        if look == Self.always { return true }
        let age = now.milliseconds &- look
        return age <= Self.trustLifetime && age >= -Self.trustLifetime
    }

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
            return (Array(journal.entries[Int(generation - journal.first)...]), end)
        }
    }
}
