import GRDB
import RelyingParty
import Synchronization

/// What a write made invalid, told to the caches after COMMIT.
struct WriteEffects {
    var invalidations: [SessionInvalidations.Entry] = []
}

/// One write waiting for its transaction.
struct PendingWrite: Sendable {
    /// Does the write and returns how to answer for it. May run twice when a transaction was lost in between, so it
    /// touches nothing but the connection and the effects.
    let run: @Sendable (SQLiteConnection, inout WriteEffects) throws -> @Sendable () -> Void
    let fail: @Sendable (StoreError) -> Void
}

/// What the writer has done since it was opened.
package struct WriteStatistics: Hashable, Sendable {
    /// Transactions committed.
    package var transactions = 0
    /// Writes in them, those that failed alone included.
    package var writes = 0
    /// Transactions SQLite rolled back by itself.
    package var lost = 0
    /// Writes that wait now.
    package var pending = 0
    /// Writes of the batch being committed now.
    package var running = 0
}

/// Commits concurrent writes together, on one serial queue.
///
/// Each write has its own savepoint, so that one that fails leaves the others. Nobody is answered before COMMIT
/// returned. SQLite rolls back the whole transaction on a full disk or an I/O error: so after every step it is
/// checked whether the transaction still stands. If not, nothing more of the batch runs in it, no one of the batch is
/// acknowledged, and every write is tried once more in a transaction of its own.
final class GroupCommit: Sendable {
    private struct State {
        var pending: [PendingWrite] = []
        var isDraining = false
        var isClosed = false
        var statistics = WriteStatistics()
    }

    private let writer: DatabaseQueue
    private let invalidations: SessionInvalidations
    private let maximumBatch: Int
    private let state = Mutex(State())

    init(writer: DatabaseQueue, invalidations: SessionInvalidations, maximumBatch: Int) {
        self.writer = writer
        self.invalidations = invalidations
        self.maximumBatch = max(1, maximumBatch)
    }

    /// Runs `body` in a durable transaction. Not cancellable: what was begun is answered.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection, inout WriteEffects) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            submit(
                PendingWrite(
                    run: { connection, effects in
                        let value = try body(connection, &effects)
                        return { continuation.resume(returning: .success(value)) }
                    },
                    fail: { continuation.resume(returning: .failure($0)) }))
        }
        return try result.get()
    }

    func submit(_ write: PendingWrite) {
        enum Next { case start, wait, refuse }
        let next: Next = state.withLock { state in
            if state.isClosed { return .refuse }
            state.pending.append(write)
            if state.isDraining { return .wait }
            state.isDraining = true
            return .start
        }
        switch next {
        case .wait: break
        case .start: writer.asyncWriteWithoutTransaction { connection in self.drain(connection) }
        case .refuse: write.fail(.unavailable("the database is closed"))
        }
    }

    var statistics: WriteStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.pending = state.pending.count
            return statistics
        }
    }

    /// Refuses further writes; those already accepted are still done.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    private func drain(_ connection: SQLiteConnection) {
        while true {
            let batch: [PendingWrite] = state.withLock { state in
                let batch = Array(state.pending.prefix(maximumBatch))
                state.pending.removeFirst(batch.count)
                state.statistics.running = batch.count
                if batch.isEmpty { state.isDraining = false }
                return batch
            }
            if batch.isEmpty { return }
            for write in commit(batch, on: connection) {
                // What is left of a lost transaction, each alone; what is lost again has failed.
                _ = commit([write], on: connection)
            }
        }
    }

    /// One transaction.
    /// - Returns: the writes to try again alone because their transaction was lost; empty for a batch of one, whose
    ///   loss is an answer.
    private func commit(_ batch: [PendingWrite], on connection: SQLiteConnection) -> [PendingWrite] {
        do {
            // Left open only when a ROLLBACK itself had failed.
            if connection.isInsideTransaction { try connection.run("ROLLBACK") }
            try connection.run("BEGIN IMMEDIATE")
        } catch {
            let failure = StoreError(error)
            for write in batch { write.fail(failure) }
            return []
        }
        var effects = WriteEffects()
        var answers: [@Sendable () -> Void] = []
        do {
            for write in batch {
                answers.append(try step(write, on: connection, effects: &effects))
            }
            try connection.run("COMMIT")
        } catch {
            if connection.isInsideTransaction { try? connection.run("ROLLBACK") }
            state.withLock { $0.statistics.lost += 1 }
            guard batch.count == 1 else { return batch }
            batch[0].fail(StoreError(error))
            return []
        }
        state.withLock { state in
            state.statistics.transactions += 1
            state.statistics.writes += batch.count
        }
        // After COMMIT and before any answer, so that no one who knows of the write can be told otherwise.
        invalidations.append(effects.invalidations)
        for answer in answers { answer() }
        return []
    }

    /// One write in its savepoint.
    /// - Returns: how to answer once the transaction is committed: with the value, or with the write's own failure.
    /// - Throws: when the whole transaction is gone.
    private func step(
        _ write: PendingWrite, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> @Sendable () -> Void {
        var own = WriteEffects()
        do {
            try connection.run("SAVEPOINT one")
            let answer = try write.run(connection, &own)
            guard connection.isInsideTransaction else { throw TransactionLost() }
            try connection.run("RELEASE one")
            guard connection.isInsideTransaction else { throw TransactionLost() }
            effects.invalidations += own.invalidations
            return answer
        } catch {
            guard connection.isInsideTransaction else { throw error }
            try connection.run("ROLLBACK TO one")
            try connection.run("RELEASE one")
            let failure = StoreError(error)
            return { write.fail(failure) }
        }
    }
}

/// SQLite ended the transaction by itself.
struct TransactionLost: Error {}
