internal import UnixSignals

/// Work that SIGINT and SIGTERM end in an orderly way.
enum Interruption {
    private enum Ended<Value: Sendable>: Sendable {
        case body(Value)
        case signal
        case nothing
    }

    /// Runs `body`; a signal cancels it, and its result is returned.
    static func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return try await withThrowingTaskGroup(of: Ended<Value>.self) { group in
            group.addTask {
                for await _ in signals { return .signal }
                return .nothing
            }
            group.addTask { .body(try await body()) }
            while let ended = try await group.next() {
                if case .body(let value) = ended {
                    group.cancelAll()
                    return value
                }
                group.cancelAll()
            }
            throw CancellationError()
        }
    }
}
