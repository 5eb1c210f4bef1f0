package import Coding
package import RelyingParty

// Lists as a whole, where a test has few of something.
extension SessionList {
    /// Newest first.
    package func sessions(of user: UserID, at now: Timestamp) async throws(StoreError) -> [Session] {
        try await sessions(of: user, by: .newest, after: nil, limit: 10_000, at: now).items
    }
}
