/// The wall clock, injected wherever a time is compared or stored.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}
