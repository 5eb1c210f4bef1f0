import Coding
import Synchronization

struct PendingWrite: Sendable {
    let since = ContinuousClock.now
    /// Performs the write. May run twice when a transaction was lost, so it has no effects outside of it.
    let run: @Sendable (any EngineConnection) throws -> FinishedWrite
    let fail: @Sendable (StoreError) -> Void
    /// Makes its task commit the next batch, which begins with this write.
    let lead: @Sendable () -> Void
}

package struct FinishedWrite: Sendable {
    let answer: @Sendable () -> Void
    let effect: WriteEffect?
}

/// An effect of a write, such as an eviction from caches: called after COMMIT and before any answer, so that nobody who
/// knows of the write sees an older state.
package typealias WriteEffect = @Sendable () -> Void

package struct WriteStatistics: Hashable, Sendable {
    package var transactions = 0
    /// Their writes, including those that failed individually.
    package var writes = 0
    /// Transactions that the engine rolled back by itself.
    package var lost = 0
    package var pending = 0
    package var running = 0
}

/// Commits concurrent writes together, on one serial queue.
///
/// The task of the first waiting write leads: it lets the other tasks of its turn add theirs, sends the batch to the
/// queue in one round trip, answers all of it, and passes the lead to the first write that came in the meantime.
///
/// A write that fails individually does not affect the others. Since almost none fails, a batch first runs without
/// savepoints, each of which makes SQLite copy every page the write touches. When a write fails, the transaction is
/// rolled back and the batch runs again with a savepoint for each. Nothing is answered before COMMIT returned. On a
/// full disk or an I/O error SQLite rolls back the whole transaction, so after every write we check that the
/// transaction still exists. If not, nothing more of the batch runs in it, none of it is acknowledged, and every write
/// is tried once more in its own transaction.
final class GroupCommit: Sendable {
    private struct State {
        var pending: [PendingWrite] = []
        var isLed = false
        var isClosed = false
        var statistics = WriteStatistics()
        var trouble: StoreTrouble?
        var lastCommit: ContinuousClock.Instant?

        mutating func fail(_ error: StoreError, writes: Int) {
            guard StoreTrouble.concernsMachine(error) else { return }
            trouble = StoreTrouble(
                error: error, failures: (trouble?.failures ?? 0) + writes, since: trouble?.since ?? .now)
        }
    }

    private enum Outcome {
        /// Committed, or permanently failed: call these outside the queue.
        case answers([@Sendable () -> Void])
        /// A write failed: nothing is committed, and nothing answered.
        case spoiled
        /// SQLite ended the transaction: likewise.
        case lost
        case refused(StoreError)
    }

    private typealias Answers = [@Sendable () -> Void]

    /// How often a write that was lost with its connection is retried alone.
    private static let attempts = 3

    private static let gatheringTurns = 8

    private let writer: ConnectionQueue
    private let maximumBatch: Int
    let metrics = StoreMetrics()
    private let state = Mutex(State())

    init(writer: ConnectionQueue, maximumBatch: Int) {
        self.writer = writer
        self.maximumBatch = max(1, maximumBatch)
    }

    /// Runs `body` in a durable transaction. Not cancellable: what was begun is answered.
    func write(_ body: @escaping @Sendable (any EngineConnection) throws -> WriteEffect?) async throws(StoreError) {
        let ticket = WriteTicket()
        let write = PendingWrite(
            run: { connection in
                FinishedWrite(answer: { ticket.answer(.success(())) }, effect: try body(connection))
            },
            fail: { ticket.answer(.failure($0)) }, lead: { ticket.lead() })
        try enlist(write)
        while true {
            switch await ticket.wait() {
            case .answer(let result): return try result.get()
            case .lead: await lead()
            }
        }
    }

    private func enlist(_ write: PendingWrite) throws(StoreError) {
        let (isRefused, leads) = state.withLock { state in
            guard !state.isClosed else { return (true, false) }
            state.pending.append(write)
            defer { state.isLed = true }
            return (false, !state.isLed)
        }
        if isRefused { throw .unavailable("the database is closed") }
        if leads { write.lead() }
    }

    var statistics: WriteStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.pending = state.pending.count
            return statistics
        }
    }

    var trouble: StoreTrouble? { state.withLock { $0.trouble } }

    var hasJustCommitted: Bool {
        state.withLock { state in state.lastCommit.map { ContinuousClock.now - $0 < .seconds(1) } ?? false }
    }

    /// A probe that began during the trouble `known` succeeded without a failure since.
    func endTrouble(_ known: StoreTrouble) {
        state.withLock { state in
            if state.trouble == known { state.trouble = nil }
        }
    }

    /// Refuses writes that have waited too long behind a batch that hangs.
    func giveUp(after limit: Duration) {
        let late = state.withLock { state -> [PendingWrite] in
            // Only while a batch runs: otherwise one of the waiting writes may already lead.
            guard state.statistics.running > 0, let first = state.pending.first,
                ContinuousClock.now - first.since > limit
            else { return [] }
            let late = state.pending.prefix { ContinuousClock.now - $0.since > limit }
            state.pending.removeFirst(late.count)
            return Array(late)
        }
        for write in late { write.fail(.late) }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        writer.sync { connection in
            while let answers = commitNext(on: connection) {
                for answer in answers { answer() }
            }
        }
    }

    // MARK: Leading

    private func lead() async {
        await gather()
        let answers = try? await writer.perform { connection in self.commitNext(on: connection) ?? [] }
        for answer in answers ?? [] { answer() }
        let next = state.withLock { state in
            state.isLed = !state.pending.isEmpty
            return state.pending.first
        }
        next?.lead()
    }

    /// Waits as long as each turn brings more writes: one commit for many costs little more than for one.
    private func gather() async {
        var known = 0
        for _ in 0..<Self.gatheringTurns {
            let count = state.withLock { $0.pending.count }
            if count == known || count >= maximumBatch { return }
            known = count
            await Task.yield()
        }
    }

    // MARK: On the queue

    private func commitNext(on connection: any EngineConnection) -> Answers? {
        let batch = state.withLock { state in
            let batch = Array(state.pending.prefix(maximumBatch))
            state.pending.removeFirst(batch.count)
            state.statistics.running = batch.count
            return batch
        }
        guard !batch.isEmpty else { return nil }
        defer { state.withLock { $0.statistics.running = 0 } }
        var outcome = commit(batch, isolating: false, on: connection)
        if case .spoiled = outcome { outcome = commit(batch, isolating: true, on: connection) }
        switch outcome {
        case .answers(let answers): return answers
        case .refused(let failure): return refuse(batch[...], failure)
        case .spoiled, .lost: break
        }
        // The writes of a lost transaction, each alone, until no transaction can begin: each would wait for that.
        var answers: Answers = []
        for (index, write) in batch.enumerated() {
            switch commitAlone(write, on: connection) {
            case .answers(let more): answers += more
            case .refused(let failure): return answers + refuse(batch[index...], failure)
            case .spoiled, .lost: break
            }
        }
        return answers
    }

    private func commitAlone(_ write: PendingWrite, on connection: any EngineConnection) -> Outcome {
        for attempt in 1...Self.attempts {
            switch commit([write], isolating: false, isLast: attempt == Self.attempts, on: connection) {
            case .spoiled, .lost: continue
            case let outcome: return outcome
            }
        }
        return .answers([])
    }

    private func refuse(_ writes: ArraySlice<PendingWrite>, _ failure: StoreError) -> Answers {
        metrics.failures.increment()
        state.withLock { $0.fail(failure, writes: writes.count) }
        return writes.map { write in { write.fail(failure) } }
    }

    /// One transaction. A batch of one gets its answer, unless it may be run again.
    /// - Parameter isolating: with a savepoint for each write.
    private func commit(
        _ batch: [PendingWrite], isolating: Bool, isLast: Bool = false, on connection: any EngineConnection
    ) -> Outcome {
        let start = ContinuousClock.now
        // Swift 6.3 cannot convert an array of `@Sendable` closures at run time.
        let bodies: [(any EngineConnection) throws -> FinishedWrite] = batch.map { write in { try write.run($0) } }
        do {
            try isolating ? connection.begin(.write) : connection.begin(for: bodies)
        } catch {
            return .refused(StoreError(error))
        }
        let finished: [FinishedWrite]
        do {
            finished =
                isolating
                ? try batch.map { try isolated($0, on: connection) } : try connection.runAll(bodies)
        } catch {
            let isStanding = connection.isInsideTransaction
            connection.rollBack()
            return abandon(batch, error, isLost: !isStanding || isolating, isLast: isLast)
        }
        do {
            try connection.commit()
        } catch {
            connection.rollBack()
            // The error of a statement that was sent with the COMMIT.
            let isRefusal = !isolating && ((error as? any EngineError)?.isRefusal ?? false)
            return abandon(batch, error, isLost: !isRefusal, isLast: isLast)
        }
        state.withLock { state in
            state.statistics.transactions += 1
            state.statistics.writes += batch.count
            if state.trouble?.isLock == true { state.trouble = nil }
            state.lastCommit = .now
        }
        metrics.commits.record(since: start)
        metrics.batches.record(Int64(batch.count))
        for write in finished { write.effect?() }
        return .answers(finished.map(\.answer))
    }

    private func abandon(_ batch: [PendingWrite], _ error: any Error, isLost: Bool, isLast: Bool) -> Outcome {
        if isLost {
            state.withLock { $0.statistics.lost += 1 }
            metrics.failures.increment()
        }
        let engineError = error as? any EngineError
        // Running it again could repeat it.
        let isUnknown = engineError?.isOutcomeUnknown ?? false
        guard isUnknown || batch.count == 1 else { return isLost ? .lost : .spoiled }
        if isLost, !isLast, engineError?.mayRerun ?? false { return .lost }
        let failure = StoreError(error)
        state.withLock { $0.fail(failure, writes: batch.count) }
        return .answers(batch.map { write in { write.fail(failure) } })
    }

    /// One write in its savepoint, answered with its value or its own failure once the transaction is committed.
    /// - Throws: when the whole transaction is gone.
    private func isolated(_ write: PendingWrite, on connection: any EngineConnection) throws -> FinishedWrite {
        do {
            try connection.run("SAVEPOINT one")
            let finished = try write.run(connection)
            guard connection.isInsideTransaction else { throw TransactionLost() }
            try connection.run("RELEASE one")
            guard connection.isInsideTransaction else { throw TransactionLost() }
            return finished
        } catch {
            guard connection.isInsideTransaction else { throw error }
            try connection.run("ROLLBACK TO one")
            try connection.run("RELEASE one")
            let failure = StoreError(error)
            return FinishedWrite(answer: { write.fail(failure) }, effect: nil)
        }
    }
}

/// Waits for a write's answer, or for its turn to lead.
private final class WriteTicket: Sendable {
    enum Signal: Sendable {
        case answer(Result<Void, StoreError>)
        case lead
    }

    private enum State {
        case quiet
        case waiting(CheckedContinuation<Signal, Never>)
        /// Arrived before `wait`.
        case signalled(Signal)
    }

    private let state = Mutex(State.quiet)

    func wait() async -> Signal {
        await withCheckedContinuation { continuation in
            let signal = state.withLock { state -> Signal? in
                if case .signalled(let signal) = state {
                    state = .quiet
                    return signal
                }
                state = .waiting(continuation)
                return nil
            }
            if let signal { continuation.resume(returning: signal) }
        }
    }

    func answer(_ result: Result<Void, StoreError>) { send(.answer(result)) }
    func lead() { send(.lead) }

    private func send(_ signal: Signal) {
        let waiter = state.withLock { state -> CheckedContinuation<Signal, Never>? in
            switch state {
            case .waiting(let continuation):
                state = .quiet
                return continuation
            case .signalled(.answer):
                // The database was closed, which committed the batch that nobody led yet.
                return nil
            case .quiet, .signalled(.lead):
                state = .signalled(signal)
                return nil
            }
        }
        waiter?.resume(returning: signal)
    }
}

/// SQLite ended the transaction by itself.
struct TransactionLost: Error {}
