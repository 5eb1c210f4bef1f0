import Accounts
package import Coding
import Synchronization

/// A clock that moves on demand.
package final class ManualClock: WallClock {
    private let moment: Mutex<Timestamp>

    package init(_ seconds: Int64 = 1_800_000_000) {
        moment = Mutex(Timestamp(seconds: seconds))
    }

    package func now() -> Timestamp { moment.withLock { $0 } }

    package func advance(seconds: Int64) {
        moment.withLock { $0 = $0.adding(seconds: seconds) }
    }

    package func advance(milliseconds: Int64) {
        moment.withLock { $0 = $0.adding(milliseconds: milliseconds) }
    }
}
