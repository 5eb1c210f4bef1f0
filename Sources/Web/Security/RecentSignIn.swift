import Coding
import RelyingParty

/// Whether a sign-in is recent enough for what cannot be undone: the deletion of an account, on a page or by the API.
enum RecentSignIn {
    /// How long ago it may be, in seconds.
    static let seconds: Int64 = 600
    /// How far ahead of our clock it may be, in seconds: what a clock being corrected explains. Beyond that, nobody knows
    /// how old it is.
    private static let tolerance: Int64 = 60

    static func holds(_ session: Session, at now: Timestamp) -> Bool {
        now < session.createdAt.adding(seconds: seconds) && session.createdAt <= now.adding(seconds: tolerance)
    }
}
