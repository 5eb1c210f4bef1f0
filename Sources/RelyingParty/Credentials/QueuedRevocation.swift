package import Coding

/// A refresh token of somebody who is deleted here, waiting to be revoked at Apple. Names nobody: the person is a keyed
/// hash, so that a sign-in meanwhile can take it out of the queue.
package struct QueuedRevocation: Hashable, Sendable {
    package var id: Int64
    package var subjectHash: [UInt8]
    package var clientID: ClientID
    /// Under `SealingPurpose.refreshToken` with `sealingContext`: the context of the sign-in that brought it names the
    /// subject, and that is gone.
    package var sealedRefreshToken: [UInt8]
    package var queuedAt: Timestamp
    package var attempts: Int
    /// Why the last attempt failed: what was said of it then.
    package var failure: String?

    package init(
        id: Int64, subjectHash: [UInt8], clientID: ClientID, sealedRefreshToken: [UInt8], queuedAt: Timestamp,
        attempts: Int, failure: String? = nil
    ) {
        self.id = id
        self.subjectHash = subjectHash
        self.clientID = clientID
        self.sealedRefreshToken = sealedRefreshToken
        self.queuedAt = queuedAt
        self.attempts = attempts
        self.failure = failure
    }

    /// How long a revocation is tried, in seconds: 7 days.
    package static let lifetime: Int64 = 7 * 86_400

    /// The context a queued token is sealed with: it belongs to this entry and to no other person's.
    package static func sealingContext(subjectHash: [UInt8], clientID: ClientID) -> [UInt8] {
        Array("revocation|\(Hexadecimal.encode(subjectHash))|\(clientID.rawValue)".utf8)
    }
}

/// The queue of revocations.
package protocol RevocationQueue: Sendable {
    /// At most `limit` entries that are due, oldest first.
    func dueRevocations(at now: Timestamp, limit: Int) async throws(StoreError) -> [QueuedRevocation]
    /// Apple is about to be asked, and nobody knows when it will act: until `deadline`, or until one of the two below, a
    /// sign-in of this person is refused as revoked, because what it brings may end a moment later. The entry is due
    /// again at `deadline`. False when it is not due: a sign-in took it out, or somebody else asks already.
    func beginRevocation(_ id: Int64, at now: Timestamp, until deadline: Timestamp) async throws(StoreError) -> Bool
    /// Apple answered: the token is gone from here too, and a sign-in under way that Apple confirmed before `now` is
    /// refused as revoked. False when a sign-in took it out meanwhile.
    func finishRevocation(_ id: Int64, at now: Timestamp) async throws(StoreError) -> Bool
    /// Apple did not answer, or was not asked: tried again at `next`; or, with nil, given up and kept for the operator without its token.
    /// Nothing happens to an entry that is done.
    func postponeRevocation(_ id: Int64, until next: Timestamp?, failure: String) async throws(StoreError)
}
