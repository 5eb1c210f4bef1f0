import Dispatch
import Synchronization

/// One connection on its own serial queue: no event loop waits for its disk, network or locks.
package final class ConnectionQueue: Sendable {
    private let queue: DispatchQueue
    private let connection: any EngineConnection
    private let count = Atomic(0)
    private let waits: Waits?
    private let patience: Duration?

    /// - Parameters:
    ///   - waits: ends waits that take too long; nil where nothing hangs, and for writes, which must be waited for.
    ///   - patience: the longest a `read` may take, including its wait for others; nil for no limit.
    package init(_ connection: any EngineConnection, label: String, waits: Waits? = nil, patience: Duration? = nil) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.connection = connection
        self.waits = waits
        self.patience = patience
    }

    var load: Int { count.load(ordering: .relaxed) }

    /// Runs `body` on the queue and waits for it. Must not be called on the queue itself.
    package func sync<Value>(_ body: (any EngineConnection) throws -> Value) rethrows -> Value {
        try queue.sync { try body(connection) }
    }

    /// Runs `body` on the queue.
    func async(_ body: @escaping @Sendable (any EngineConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// The same for reads, which end with `patience`, and soon after their client has left.
    func read(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        let limit = ReadLimit(patience, for: AwaitedClient.current)
        try await perform { connection in
            try limit.check()
            try connection.limited(by: limit) { try body(connection) }
        }
    }

    /// Runs `body` on the queue, and waits for it without blocking a thread.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let handover = Handover<Result<Value, StoreError>>()
        var number: UInt64?
        if let waits {
            let end = waits.deadline()
            guard end > .now else { throw .late }
            number = waits.add(until: end) { handover.settle(.failure(.late)) }
        }
        count.add(1, ordering: .relaxed)
        let result = await handover.value {
            async { connection in
                guard handover.isAwaited else { return }
                handover.settle(Result { try body(connection) }.mapError { StoreError($0) })
            }
        }
        count.subtract(1, ordering: .relaxed)
        if let number { waits?.remove(number) }
        guard let result else { throw .inconsistent("the queue returned nothing") }
        return try result.get()
    }

    /// Closes the connection after the work in the queue; later calls fail.
    func close() { sync { $0.close() } }
}

/// When a read is no longer needed.
package struct ReadLimit: Sendable {
    private let end: ContinuousClock.Instant?
    private let client: AwaitedClient?

    init(_ patience: Duration?, for client: AwaitedClient?) {
        end = patience.map { .now + $0 }
        self.client = client
    }

    var isNone: Bool { end == nil && client == nil }

    func check() throws(StoreError) {
        if let end, ContinuousClock.now > end { throw .unavailable("reads take too long") }
        if client?.hasLeft == true { throw .unavailable("no caller waits for this read") }
    }

    var isOver: Bool { (try? check()) == nil }
}

extension [ConnectionQueue] {
    /// The one with the fewest calls, so that a slow read delays only some of the others.
    var idlest: ConnectionQueue? { self.min { $0.load < $1.load } }
}
