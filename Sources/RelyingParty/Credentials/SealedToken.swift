package import Coding
package import Crypto

/// A refresh token as the store keeps it, with what its seal is bound to.
package struct SealedToken: Hashable, Sendable {
    /// Where it stands.
    package enum Place: Hashable, Sendable {
        /// Of somebody who is here.
        case credential(TeamID, AppleSubject, ClientID)
        /// Of somebody who was deleted, in the queue of revocations.
        case revocation(Int64)
        /// Within the identity that waits for a link's completion.
        case link(LinkKey)
    }

    package var place: Place
    package var sealed: [UInt8]
    /// Needed to open it, and to seal it again.
    package var context: [UInt8]
    package var purpose: SealingPurpose

    package init(place: Place, sealed: [UInt8], context: [UInt8], purpose: SealingPurpose = .refreshToken) {
        self.place = place
        self.sealed = sealed
        self.context = context
        self.purpose = purpose
    }
}

/// The key a server sealed with when it was started last.
package struct SealingKeyStamp: Hashable, Sendable {
    package var keyID: String
    /// When a server was first started with it; nil when that was before Bramley took note of it.
    package var since: Timestamp?

    package init(keyID: String, since: Timestamp?) {
        self.keyID = keyID
        self.since = since
    }
}

/// The store as `Resealing` works through it, beside a running server.
package protocol SealedTokenStore: Sendable {
    /// Nil in a database no server has stamped.
    func sealingKeyStamp() async throws(StoreError) -> SealingKeyStamp?
    func sealedTokenCount() async throws(StoreError) -> Int
    /// At most `limit` of them after `place`, in an order that stays; nil begins at the first.
    func sealedTokens(after place: SealedToken.Place?, limit: Int) async throws(StoreError) -> [SealedToken]
    /// Puts another seal in the place of each that still is as it was read: a newer token, or none, stays.
    /// - Returns: how many were replaced.
    func replaceSealedTokens(
        _ changes: [(token: SealedToken, sealed: [UInt8])]
    ) async throws(StoreError) -> Int
    /// When the youngest entry about a deleted person was made, of those made before `moment`, or of all: it is found
    /// again by a hash under the key of its time.
    func lastDeletion(before moment: Timestamp?) async throws(StoreError) -> Timestamp?
    /// Takes what was replaced out of the database's log too.
    func forgetReplacedSeals() async throws(StoreError)
}
