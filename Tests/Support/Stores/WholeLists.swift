package import Accounts
package import Coding
import Storage

// Lists as a whole, where a test has few of something.
extension Database {
    /// Newest first.
    package func sessions(of user: UserID, at now: Timestamp) async throws(Failure) -> [Session] {
        try await sessions(of: user, by: .newest, after: nil, limit: 10_000, at: now).items
    }
}
