package import Coding
import FoundationEssentials
import RelyingParty

/// The machine's wall clock.
package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
