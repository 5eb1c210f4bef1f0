internal import UnixSignals

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
