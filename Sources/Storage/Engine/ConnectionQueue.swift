import Dispatch
import RelyingParty

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
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            async { connection in
                do {
                    continuation.resume(returning: .success(try body(connection)))
                } catch {
                    continuation.resume(returning: .failure(StoreError(error)))
                }
            }
        }
        return try result.get()
    }

    /// Closes the connection after what waits there; later calls fail.
    func close() {
        sync { $0.close() }
    }
}
