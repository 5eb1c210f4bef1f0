import Sockets
import Testing
import Web

@testable import Bramley

@Suite struct LoopPulseTests {
    private let start = Deadline(nanoseconds: 1_000_000_000_000)

    @Test func aLoopThatDoesNotBeatIsNamed() {
        let pulse = LoopPulse(loops: 2)
        // Before the loops begin there is nothing to miss.
        #expect(pulse.examine(at: start).problem == nil)
        pulse.beat(0, at: start)
        pulse.beat(1, at: start)
        let edge = start.adding(milliseconds: LoopPulse.patience)
        #expect(pulse.examine(at: edge).problem == nil)
        pulse.beat(0, at: edge)
        let late = edge.adding(milliseconds: 1)
        #expect(pulse.examine(at: late) == HealthCheck("event_loops", problem: "event loop 1 does not turn"))
        pulse.beat(1, at: late)
        #expect(pulse.examine(at: late).problem == nil)
    }

    @Test func aLoopThatDrainsIsNotMissed() {
        let pulse = LoopPulse(loops: 1)
        pulse.beat(0, at: start)
        pulse.beat(0, at: nil)
        #expect(pulse.examine(at: .never).problem == nil)
    }
}
