internal import Sockets
internal import Synchronization
internal import Web

/// Detects an event loop that is blocked or dead: nobody serves its connections, while the others may look fine.
struct LoopPulse: Sendable {
    /// Milliseconds. No turn takes a hundredth of it. The result is known within two seconds, even on a busy machine.
    static let patience: Int64 = 1_000
    /// Between two checks of who has answered, in milliseconds.
    private static let pause: Int64 = 2

    private let group: EventLoopGroup
    private let patience: Int64

    init(_ group: EventLoopGroup, patience: Int64 = LoopPulse.patience) {
        self.group = group
        self.patience = patience
    }

    /// For `/healthz`: asks every loop to turn, and waits for them. Runs on a loop that turns, or it would not run.
    func examine() async -> HealthCheck {
        let silent = Mutex(Array(0..<group.loops.count))
        for loop in group.loops { loop.execute { silent.withLock { $0.removeAll { $0 == loop.index } } } }
        if let loop = group.loops.first(where: { $0.isOnLoop }) {
            let limit = Deadline.now.adding(milliseconds: patience)
            while !silent.withLock(\.isEmpty), Deadline.now < limit {
                if await loop.sleep(until: Deadline.now.adding(milliseconds: Self.pause)) { continue }
                // A draining loop ends by itself, and the process with it.
                if loop.isDraining { return HealthCheck("event_loops") }
                // The timer could not be set.
                await Task.yield()
            }
        }
        let words = silent.withLock { $0.map { "event loop \($0) is not responding" } }
        return HealthCheck("event_loops", problem: words.isEmpty ? nil : words.joined(separator: ", "))
    }
}
