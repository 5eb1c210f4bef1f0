import GRDB

/// One connection on a serial queue of its own.
final class SQLiteQueue: Sendable {
    private let queue: DatabaseQueue
    private let connection: SQLiteConnection

    init(_ queue: DatabaseQueue) throws {
        self.queue = queue
        connection = try queue.writeWithoutTransaction { try SQLiteConnection($0) }
    }

    /// Runs `body` on the queue and waits for it.
    func sync<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value {
        try queue.writeWithoutTransaction { _ in try body(connection) }
    }

    /// Runs `body` on the queue, behind what waits there.
    func async(_ body: @escaping @Sendable (SQLiteConnection) -> Void) {
        queue.asyncWriteWithoutTransaction { [connection] _ in body(connection) }
    }

    /// Behind what waits there. The connection is not used again.
    func close() throws {
        queue.writeWithoutTransaction { _ in connection.close() }
        try queue.close()
    }
}
