import Synchronization

/// The client that waits for what a task does.
///
/// One that has closed its side may still read; but nobody sends a request, says that nothing more will come, and waits
/// for longer than a second.
package final class AwaitedClient: Sendable {
    @TaskLocal package static var current: AwaitedClient?

    private static let patience = Duration.seconds(1)

    private let leftAt = Mutex<ContinuousClock.Instant?>(nil)

    package init() {}

    package func leave() {
        leftAt.withLock { $0 = $0 ?? .now }
    }

    package var hasLeft: Bool { leftAt.withLock { $0.map { ContinuousClock.now - $0 > Self.patience } ?? false } }
}
