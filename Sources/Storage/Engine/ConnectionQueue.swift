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
    ///   - waits: ends the waiting for what takes too long; nil where nothing hangs, and where a write must be waited for.
    ///   - patience: how long `read` takes at most, the wait for others included; nil for as long as it takes.
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

    /// Runs `body` on the queue, after what waits there.
    func async(_ body: @escaping @Sendable (any EngineConnection) -> Void) {
        queue.async { [connection] in body(connection) }
    }

    /// The same for what only reads: it ends with `patience`, and soon after its client has left.
    func read(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        let limit = ReadLimit(patience, for: AwaitedClient.current)
        try await perform { connection in
            try limit.check()
            try connection.limited(by: limit) { try body(connection) }
        }
    }

    /// Runs `body` on the queue, after what waits there, and waits for it without blocking a thread.
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
        guard let result else { throw .inconsistent("nothing was done") }
        return try result.get()
    }

    /// Closes the connection after what waits there; later calls fail.
    func close() { sync { $0.close() } }
}

/// Until when a read is of use.
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
        if client?.hasLeft == true { throw .unavailable("nobody waits for this read any more") }
    }

    var isOver: Bool { (try? check()) == nil }
}

extension [ConnectionQueue] {
    /// The one with the fewest calls. A read that takes long keeps those behind it waiting, but not all.
    var idlest: ConnectionQueue? { self.min { $0.load < $1.load } }
}
