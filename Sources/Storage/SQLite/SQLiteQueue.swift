import Dispatch

/// One connection on its own serial queue: no event loop waits for its disk or locks.
final class SQLiteQueue: Sendable {
    private let queue: DispatchQueue
    private let connection: SQLiteConnection

    /// - Parameter label: names the queue in a debugger.
    init(_ connection: SQLiteConnection, label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.connection = connection
    }

    /// Runs `body` on the queue and waits for it. Must not be called on the queue itself.
    func sync<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try queue.sync { try body(connection) }
    }

    /// Runs `body` on the queue, after what waits there.
    func async(_ body: @escaping @Sendable (SQLiteConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// Closes the connection after what waits there; later calls fail.
    func close() {
        sync { $0.close() }
    }
}
