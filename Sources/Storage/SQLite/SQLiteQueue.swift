import Dispatch

/// One connection on a serial queue of its own: whoever waits for a disk or a lock there is no event loop.
final class SQLiteQueue: Sendable {
    private let queue: DispatchQueue
    private let connection: SQLiteConnection

    /// - Parameter label: names the queue in a debugger.
    init(_ connection: SQLiteConnection, label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.connection = connection
    }

    /// Runs `body` on the queue and waits for it. Not to be called from the queue itself.
    func sync<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try queue.sync { try body(connection) }
    }

    /// Runs `body` on the queue, behind what waits there.
    func async(_ body: @escaping @Sendable (SQLiteConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// Closes the connection, behind what waits there; what comes later fails.
    func close() {
        sync { $0.close() }
    }
}
