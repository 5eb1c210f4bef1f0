import Synchronization

/// Read-only connections for look-ups that take microseconds: opened on the calling thread, without a detour through
/// another queue. As many as threads have ever asked at once.
final class ReadConnections: Sendable {
    private struct State {
        var idle: [SQLiteConnection] = []
        var isClosed = false
    }

    private let connections: Connections
    private let state = Mutex(State())

    init(_ connections: Connections) {
        self.connections = connections
    }

    /// Runs `body` on this thread. For look-ups by key, one statement each: there is no transaction around them.
    func read(_ body: (any EngineConnection) throws -> Void) throws(StoreError) {
        do {
            let reader = try acquire()
            defer { release(reader) }
            try body(reader)
        } catch {
            throw StoreError(error)
        }
    }

    private func acquire() throws -> SQLiteConnection {
        let idle = try state.withLock { state in
            guard !state.isClosed else { throw StoreError.unavailable("the database is closed") }
            return state.idle.popLast()
        }
        return try idle ?? connections.openReader()
    }

    private func release(_ reader: SQLiteConnection) {
        let mustClose = state.withLock { state in
            if !state.isClosed { state.idle.append(reader) }
            return state.isClosed
        }
        if mustClose { reader.close() }
    }

    /// Closes unused connections; the others close when their look-up has ended.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for reader in idle { reader.close() }
    }
}
