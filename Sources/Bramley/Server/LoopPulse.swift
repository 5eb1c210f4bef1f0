internal import Sockets
internal import Synchronization
internal import Web

/// Notices an event loop that does not turn: one that a handler holds, or that died. Its connections are served by nobody
/// while the others, the operator's listener among them, may look well.
final class LoopPulse: Sendable {
    /// Between two beats of a loop, in milliseconds.
    static let interval: Int64 = 1_000
    /// A loop that has not beaten for so long is stuck, in milliseconds. No turn takes a hundredth of it, and a machine that
    /// is busy otherwise should not have its server restarted.
    static let patience: Int64 = 15_000

    private let beats: Mutex<[Deadline?]>

    init(loops: Int) {
        beats = Mutex(Array(repeating: nil, count: loops))
    }

    /// On the loop that is to beat; ends when it drains, and from then on the loop is not missed.
    func start(on loop: EventLoop) {
        beat(loop.index, at: loop.now)
        loop.spawn { [self] in
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval)) {
                beat(loop.index, at: loop.now)
            }
            beat(loop.index, at: nil)
        }
    }

    /// - Parameter moment: nil for a loop that is not to be missed.
    func beat(_ loop: Int, at moment: Deadline?) {
        beats.withLock { $0[loop] = moment }
    }

    /// What `/healthz` says at `now`.
    func examine(at now: Deadline) -> HealthCheck {
        let stuck = beats.withLock { beats in
            beats.enumerated().filter { $0.element.map { $0.adding(milliseconds: Self.patience) < now } ?? false }
                .map(\.offset)
        }
        let words = stuck.map { "event loop \($0) does not turn" }.joined(separator: ", ")
        return HealthCheck("event_loops", problem: stuck.isEmpty ? nil : words)
    }
}
