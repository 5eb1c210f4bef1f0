package import Coding
package import Storage

/// A refresh token of a deleted person, waiting to be revoked at Apple. It names nobody: the person is a keyed hash, so
/// that a sign-in in the meantime can remove it from the queue.
package struct QueuedRevocation: Hashable, Sendable {
    package var id: Int64
    package var subjectHash: [UInt8]
    package var clientID: ClientID
    /// Sealed under `SealingPurpose.refreshToken` with `sealingContext`. The context of the sign-in that brought it
    /// names the subject, which has been erased.
    package var sealedRefreshToken: [UInt8]
    package var queuedAt: Timestamp
    package var attempts: Int
    /// Why the last attempt failed.
    package var failure: String?

    /// How long a revocation is tried, in seconds: 7 days.
    package static let lifetime: Int64 = 7 * 86_400

    /// The context of a queued token's seal: it belongs to this entry and to no other person's.
    package static func sealingContext(subjectHash: [UInt8], clientID: ClientID) -> [UInt8] {
        Array("revocation|\(Hexadecimal.encode(subjectHash))|\(clientID.rawValue)".utf8)
    }
}

/// The queue of revocations.
package protocol RevocationQueue: Sendable {
    /// At most `limit` entries that are due, oldest first.
    func dueRevocations(at now: Timestamp, limit: Int) async throws(StoreError) -> [QueuedRevocation]
    /// Marks that Apple is about to be asked. Nobody knows when Apple acts, so until `deadline`, or until one of the
    /// next two calls, a sign-in of this person is refused as revoked: what it brings may end a moment later. The entry
    /// is due again at `deadline`. False when it is not due: a sign-in removed it, or another process is asking.
    func beginRevocation(_ id: Int64, at now: Timestamp, until deadline: Timestamp) async throws(StoreError) -> Bool
    /// Records that Apple answered: deletes the token here too, and refuses as revoked a sign-in in flight that Apple
    /// confirmed before `now`. False when a sign-in removed the entry in the meantime.
    func finishRevocation(_ id: Int64, at now: Timestamp) async throws(StoreError) -> Bool
    /// Records that Apple did not answer, or was not asked: try again at `next`, or, with nil, give up and keep the
    /// entry for the operator without its token. Does nothing to a finished entry.
    func postponeRevocation(_ id: Int64, until next: Timestamp?, failure: String) async throws(StoreError)
}
