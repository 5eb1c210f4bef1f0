import Synchronization

/// That a server has this process's last poll: it is the one on which the poll was committed, or has taken over from it.
/// Reads of any other are of a primary that another one has replaced.
///
/// Each attempt at a poll has a number of its own. One that failed may still be committed, by a server that waits for a
/// standby it has lost: its number is no proof.
final class PostgresProof: Sendable {
    private struct State {
        var begun: Int64 = 0
        var committed: Int64 = 0
        /// The last of them.
        var failed: [Int64] = []
    }

    /// The process, in `store_poll`.
    let node: String
    private let state = Mutex(State())

    /// An attempt's number shows only while it is the server's last, and look-ups end in seconds.
    private static let remembered = 256

    init(node: String) {
        self.node = node
    }

    /// The last poll that was committed; 0 before the first.
    var committed: Int64 { state.withLock(\.committed) }

    /// The number of an attempt at a poll.
    func begin() -> Int64 {
        state.withLock { state in
            state.begun += 1
            return state.begun
        }
    }

    func commit(_ poll: Int64) { state.withLock { $0.committed = poll } }

    func fail(_ poll: Int64) {
        state.withLock { state in
            if state.failed.count == Self.remembered { state.failed.removeFirst() }
            state.failed.append(poll)
        }
    }

    /// The number of the last poll that the server has.
    static let sql = "SELECT number FROM store_poll WHERE id = ?"

    /// Whether a server has what was committed.
    /// - Parameters:
    ///   - number: its answer to `sql`.
    ///   - known: `committed`, before it was asked.
    func accepts(_ number: Int64, known: Int64) -> Bool {
        number >= known && state.withLock { !$0.failed.contains(number) }
    }
}
