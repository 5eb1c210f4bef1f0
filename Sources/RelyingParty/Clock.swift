package import Coding

/// The wall clock, injected everywhere a moment is compared or stored.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}
