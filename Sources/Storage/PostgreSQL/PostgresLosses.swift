import Synchronization

/// How often a connection of one engine was lost. Another server may be the primary since: the engine's other
/// connections are then made again too, or they would go on reading from the old one.
final class PostgresLosses: Sendable {
    private let losses = Atomic(0)

    var count: Int { losses.load(ordering: .acquiring) }

    /// - Parameter known: the count when the lost connection was opened. Those lost together count once.
    func add(since known: Int) {
        _ = losses.compareExchange(expected: known, desired: known + 1, ordering: .acquiringAndReleasing)
    }
}
