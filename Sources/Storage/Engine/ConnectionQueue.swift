import Dispatch
import RelyingParty
import Synchronization

/// One connection on its own serial queue: no event loop waits for its disk, network or locks.
final class ConnectionQueue: Sendable {
    private let queue: DispatchQueue
    private let connection: any EngineConnection

    /// - Parameter label: names the queue in a debugger.
    init(_ connection: any EngineConnection, label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.connection = connection
    }

    /// Runs `body` on the queue and waits for it. Must not be called on the queue itself.
    func sync<Value>(_ body: (any EngineConnection) throws -> Value) rethrows -> Value {
        try queue.sync { try body(connection) }
    }

    /// Runs `body` on the queue, after what waits there.
    func async(_ body: @escaping @Sendable (any EngineConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// Runs `body` on the queue, after what waits there, and waits for it without blocking a thread.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let handover = Handover<Value>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            async { connection in
                handover.fill { try body(connection) }
                continuation.resume()
            }
        }
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
