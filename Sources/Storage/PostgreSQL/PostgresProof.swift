import Synchronization

/// That a server has this process's last poll: it is the one on which the poll was committed, or has taken over from it.
/// Reads of any other are of a primary that another one has replaced.
final class PostgresProof: Sendable {
    /// The process, in `store_poll`.
    let node: String
    private let begun = Atomic<Int64>(0)
    private let number = Atomic<Int64>(0)

    init(node: String) {
        self.node = node
    }

    /// The last poll that was committed; 0 before the first.
    var committed: Int64 { number.load(ordering: .acquiring) }

    /// The number of the next attempt at a poll. None is given twice: a primary that waits for a standby it has lost may
    /// commit an attempt that failed, and must not be taken for the one that has the next.
    func begin() -> Int64 { begun.wrappingAdd(1, ordering: .relaxed).newValue }

    func commit(_ poll: Int64) { number.store(poll, ordering: .releasing) }

    /// The number of the last poll that a server has. It counts if that is at least what was `committed` before the server
    /// was asked.
    static let sql = "SELECT number FROM store_poll WHERE id = ?"
}
