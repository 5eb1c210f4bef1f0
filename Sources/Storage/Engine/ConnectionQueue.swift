import Dispatch
import RelyingParty
import Synchronization

/// One connection on its own serial queue: no event loop waits for its disk, network or locks.
final class ConnectionQueue: Sendable {
    private let queue: DispatchQueue
    private let connection: any EngineConnection
    private let count = Atomic(0)
    private let patience: Duration?

    /// - Parameters:
    ///   - label: names the queue in a debugger.
    ///   - patience: how long `read` takes at most, the wait for others included; nil for as long as it takes.
    init(_ connection: any EngineConnection, label: String, patience: Duration? = nil) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.connection = connection
        self.patience = patience
    }

    /// How many calls run or wait.
    var load: Int { count.load(ordering: .relaxed) }

    /// Runs `body` on the queue and waits for it. Must not be called on the queue itself.
    func sync<Value>(_ body: (any EngineConnection) throws -> Value) rethrows -> Value {
        try queue.sync { try body(connection) }
    }

    /// Runs `body` on the queue, after what waits there.
    func async(_ body: @escaping @Sendable (any EngineConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// The same for what only reads: it ends when `patience` is over, and soon after the client has left for whom it is
    /// done.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let limit = ReadLimit(patience, for: AwaitedClient.current)
        return try await perform { connection in
            try limit.check()
            return try connection.limited(by: limit) { try body(connection) }
        }
    }

    /// Runs `body` on the queue, after what waits there, and waits for it without blocking a thread.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let handover = Handover<Value>()
        count.add(1, ordering: .relaxed)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            async { connection in
                handover.fill { try body(connection) }
                continuation.resume()
            }
        }
        count.subtract(1, ordering: .relaxed)
        return try handover.take()
    }

    /// The result passes from thread to thread under a lock and not with the continuation: the thread sanitizer does not
    /// see that one which is resumed early has been waited for.
    private final class Handover<Value: Sendable>: Sendable {
        private let result = Mutex<Result<Value, StoreError>>(.failure(.inconsistent("nothing was done")))

        func fill(_ body: () throws -> Value) {
            let made: Result<Value, StoreError>
            do { made = .success(try body()) } catch { made = .failure(StoreError(error)) }
            result.withLock { $0 = made }
        }

        func take() throws(StoreError) -> Value { try result.withLock { $0 }.get() }
    }

    /// Closes the connection after what waits there; later calls fail.
    func close() {
        sync { $0.close() }
    }
}

/// Until when a read is of use.
struct ReadLimit: Sendable {
    private let end: ContinuousClock.Instant?
    private let client: AwaitedClient?

    init(_ patience: Duration?, for client: AwaitedClient?) {
        end = patience.map { .now + $0 }
        self.client = client
    }

    /// Never over.
    var isNone: Bool { end == nil && client == nil }

    func check() throws(StoreError) {
        if let end, ContinuousClock.now > end { throw .unavailable("reads take too long") }
        if client?.hasLeft == true { throw .unavailable("nobody waits for this read any more") }
    }

    var isOver: Bool { (try? check()) == nil }
}

extension [ConnectionQueue] {
    /// The one with the fewest calls. A read that takes long keeps those behind it waiting, but not all.
    var idlest: ConnectionQueue? { self.min { $0.load < $1.load } }
}
