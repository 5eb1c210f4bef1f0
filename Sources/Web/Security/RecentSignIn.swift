import Accounts
import Coding

/// Whether a sign-in is recent enough for what cannot be undone: the deletion of an account, on a page or through the
/// API.
enum RecentSignIn {
    /// Its maximum age in seconds.
    static let seconds: Int64 = 600
    /// How far ahead of our clock it may be, in seconds, while a clock is being corrected. Beyond that, its age is
    /// unknown.
    private static let tolerance: Int64 = 60

    static func holds(_ session: Session, at now: Timestamp) -> Bool {
        now < session.createdAt.adding(seconds: seconds) && session.createdAt <= now.adding(seconds: tolerance)
    }
}
