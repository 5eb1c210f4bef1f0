internal import Sockets
internal import Synchronization
internal import Web

/// Notices an event loop that does not turn: one that a handler holds, or that died. Its connections are served by nobody
/// while the others, the operator's listener among them, may look well.
struct LoopPulse: Sendable {
    /// How long a loop may take to turn when it is asked to, in milliseconds. No turn takes a hundredth of it. Whoever asks
    /// has the verdict within two seconds, also on a machine that is busy otherwise.
    static let patience: Int64 = 1_000
    /// Between two looks at who has answered, in milliseconds.
    private static let pause: Int64 = 2

    private let group: EventLoopGroup
    private let patience: Int64

    init(_ group: EventLoopGroup, patience: Int64 = LoopPulse.patience) {
        self.group = group
        self.patience = patience
    }

    /// What `/healthz` says: asks every loop to turn, and waits for them. On a loop, which turns, or nobody asks.
    func examine() async -> HealthCheck {
        let silent = Silent(loops: group.loops.count)
        for loop in group.loops { loop.execute { silent.remove(loop.index) } }
        if let loop = group.loops.first(where: { $0.isOnLoop }) {
            let limit = Deadline.now.adding(milliseconds: patience)
            while !silent.indices.isEmpty, Deadline.now < limit {
                if await loop.sleep(until: Deadline.now.adding(milliseconds: Self.pause)) { continue }
                // One that drains ends by itself, and the process with it.
                if loop.isDraining { return HealthCheck("event_loops") }
                // There was no timer.
                await Task.yield()
            }
        }
        let words = silent.indices.map { "event loop \($0) is not responding" }.joined(separator: ", ")
        return HealthCheck("event_loops", problem: words.isEmpty ? nil : words)
    }

    private final class Silent: Sendable {
        private let state: Mutex<[Int]>

        init(loops: Int) {
            state = Mutex(Array(0..<loops))
        }

        var indices: [Int] { state.withLock { $0 } }

        func remove(_ index: Int) {
            state.withLock { $0.removeAll { $0 == index } }
        }
    }
}
