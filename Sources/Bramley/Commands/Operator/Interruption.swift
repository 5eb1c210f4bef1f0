internal import Coding
internal import Sockets
internal import UnixSignals

/// Work that SIGINT and SIGTERM end in an orderly way.
enum Interruption {
    /// Runs `body`; a signal cancels it, and its result is returned.
    static func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            group.addTask { try await body() }
            while let ended = try await group.next() {
                group.cancelAll()
                if let value = ended { return value }
            }
            throw CancellationError()
        }
    }
}

extension EventLoopGroup {
    /// One loop for as long as a command's work takes.
    static func alone<Value: Sendable>(_ work: (EventLoopGroup) async throws -> Value) async throws -> Value {
        let group = try EventLoopGroup(count: 1)
        async let running: Void = group.run { loop in await loop.runRoot { $0.close() } }
        let result = await Result { try await work(group) }
        group.beginDrain()
        group.abort()
        try await running
        return try result.get()
    }
}
