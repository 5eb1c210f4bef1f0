package import Crypto
package import Storage
import Synchronization

/// The list through which writes invalidate entries of every loop's cache.
///
/// A writer calls `append` after COMMIT and before it answers anyone. A loop compares `generation` on every hit (one
/// atomic load) and, when it has moved, applies the new entries. A fill is stored only if the generation has not moved
/// since before its read. So the very next check in this process refuses a revoked session.
package final class SessionInvalidations: Sendable {
    package enum Entry: Hashable, Sendable {
        case token(Digest256)
        case user(UserID)
        /// Everything: the changes are unknown.
        case all
    }

    private struct Journal {
        var first: UInt64 = 0
        var entries: [Entry] = []
    }

    private let counter = Atomic<UInt64>(0)
    private let journal = Mutex(Journal())
    /// Whether a cache may answer: the list contains what other processes have written too.
    package let trust: CacheTrust
    private let capacity: Int

    /// - Parameter capacity: entries kept; a loop that is further behind drops its whole cache.
    package init(trust: CacheTrust = CacheTrust(), capacity: Int = 4096) {
        self.trust = trust
        self.capacity = capacity
    }

    /// The number of entries ever appended.
    package var generation: UInt64 { counter.load(ordering: .acquiring) }

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
