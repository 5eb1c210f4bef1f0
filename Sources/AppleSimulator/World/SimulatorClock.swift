import FoundationEssentials

/// The wall clock, in milliseconds since 1970; tests inject their own.
package protocol SimulatorClock: Sendable {
    func milliseconds() -> Int64
}

package struct SystemSimulatorClock: SimulatorClock {
    package init() {}
    package func milliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
