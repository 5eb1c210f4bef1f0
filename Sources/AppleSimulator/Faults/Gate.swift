import Synchronization

/// Holds hanging requests until they are released or their connection's task is cancelled.
final class Gate: Sendable {
    private let waiting = Mutex<Set<AsyncStream<Never>.Continuation>>([])

    /// The number of requests that hang now.
    var count: Int { waiting.withLock(\.count) }

    func wait() async {
        let (release, continuation) = AsyncStream.makeStream(of: Never.self)
        _ = waiting.withLock { $0.insert(continuation) }
        // Nothing comes: it ends with the stream, or with the task.
        for await _ in release {}
        _ = waiting.withLock { $0.remove(continuation) }
    }

    func open() {
        let released = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for continuation in released { continuation.finish() }
    }
}
