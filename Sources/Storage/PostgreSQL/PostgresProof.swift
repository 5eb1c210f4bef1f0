import Synchronization

/// That a server has this process's last poll: it is the one on which the poll was committed, or has taken over from it.
/// Reads of any other are of a primary that another one has replaced.
final class PostgresProof: Sendable {
    /// The process, in `store_poll`.
    let node: String
    private let number = Atomic<Int64>(0)

    init(node: String) {
        self.node = node
    }

    /// The last poll that was committed; 0 before the first.
    var committed: Int64 { number.load(ordering: .acquiring) }

    func commit(_ poll: Int64) { number.store(poll, ordering: .releasing) }

    /// The number of the last poll that the server has.
    static let sql = "SELECT number FROM store_poll WHERE id = ?"

    /// - Parameters:
    ///   - answer: to `sql`.
    ///   - known: `committed`, before the server was asked.
    func check(_ answer: PostgresAnswer, known: Int64) throws(PostgresError) {
        if case .integer(let number)? = try answer.rows().first?.values.first, number >= known { return }
        throw .replaced
    }
}
