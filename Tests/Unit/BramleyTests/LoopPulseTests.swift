import Sockets
import Synchronization
import Testing
import Web

@testable import Bramley

@Suite struct LoopPulseTests {
    /// A loop that a handler holds is named by another, and is well again as soon as it turns.
    @Test func aLoopThatDoesNotTurnIsNamed() async throws {
        let group = try EventLoopGroup(count: 2)
        let isHeld = Atomic(true)
        let checks = Mutex<[HealthCheck]>([])
        try await group.run { loop in
            async let root: Void = loop.runRoot { $0.close() }
            if loop.index == 0 {
                let patient = LoopPulse(group, patience: 60_000)
                let first = await patient.examine()
                checks.withLock { $0.append(first) }
                group.loops[1].execute { while isHeld.load(ordering: .relaxed) {} }
                let second = await LoopPulse(group, patience: 50).examine()
                checks.withLock { $0.append(second) }
                isHeld.store(false, ordering: .relaxed)
                let third = await patient.examine()
                checks.withLock { $0.append(third) }
                group.beginDrain()
            }
            await root
        }
        let well = HealthCheck("event_loops")
        let stuck = HealthCheck("event_loops", problem: "event loop 1 is not responding")
        #expect(checks.withLock { $0 } == [well, stuck, well])
    }

    /// Whoever asks has the verdict within two seconds.
    @Test func theVerdictComesInTime() {
        #expect(LoopPulse.patience <= 1_500)
    }

    /// Also where it has not turned since.
    @Test func aLoopThatDrainsIsNotMissed() async throws {
        let group = try EventLoopGroup(count: 2)
        let isHeld = Atomic(true)
        let check = Mutex<HealthCheck?>(nil)
        try await group.run { loop in
            async let root: Void = loop.runRoot { $0.close() }
            if loop.index == 0 {
                group.loops[1].execute { while isHeld.load(ordering: .relaxed) {} }
                group.beginDrain()
                let found = await LoopPulse(group, patience: 60_000).examine()
                check.withLock { $0 = found }
                isHeld.store(false, ordering: .relaxed)
            }
            await root
        }
        #expect(check.withLock { $0?.problem } == .some(nil))
    }
}
