internal import Accounts
package import Coding
internal import Sockets

/// The machine's wall clock.
package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Timestamp {
        Timestamp(milliseconds: WallTime.milliseconds)
    }
}
