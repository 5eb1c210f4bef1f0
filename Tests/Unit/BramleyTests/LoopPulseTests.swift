import Loops
import Sockets
import Synchronization
import Testing
import Web

@testable import Bramley

@Suite struct LoopPulseTests {
    /// A loop that a handler holds is named by another, and is well again as soon as it turns.
    @Test func hangingLoopIsNamed() async throws {
        let isHeld = Atomic(true)
        let checks = try await onLoop(loops: 2) { _, group in
            let patient = LoopPulse(group, patience: 60_000)
            let first = await patient.examine()
            group.loops[1].execute { while isHeld.load(ordering: .relaxed) {} }
            let second = await LoopPulse(group, patience: 50).examine()
            isHeld.store(false, ordering: .relaxed)
            return [first, second, await patient.examine()]
        }
        let well = HealthCheck("event_loops")
        let stuck = HealthCheck("event_loops", problem: "event loop 1 is not responding")
        #expect(checks == [well, stuck, well])
    }

    /// Whoever asks has the verdict within two seconds.
    @Test func theReportIsInTime() {
        #expect(LoopPulse.patience <= 1_500)
    }

    /// Also where it has not turned since.
    @Test func aLoopThatDrainsIsNotMissed() async throws {
        let isHeld = Atomic(true)
        let check = try await onLoop(loops: 2) { _, group in
            group.loops[1].execute { while isHeld.load(ordering: .relaxed) {} }
            group.beginDrain()
            let found = await LoopPulse(group, patience: 60_000).examine()
            isHeld.store(false, ordering: .relaxed)
            return found
        }
        #expect(check.problem == nil)
    }
}
