package import Coding
package import Crypto

/// A stored refresh token, with the context of its seal.
package struct SealedToken: Hashable, Sendable {
    /// Where the token is stored.
    package enum Place: Hashable, Sendable {
        /// Of an existing person.
        case credential(TeamID, AppleSubject, ClientID)
        /// Of a deleted person, in the revocation queue.
        case revocation(Int64)
        /// In the identity that waits for a link to complete.
        case link(LinkID)
    }

    package var place: Place
    package var sealed: [UInt8]
    /// Needed to open the seal and to seal the token again.
    package var context: [UInt8]
    package var purpose: SealingPurpose

    package init(place: Place, sealed: [UInt8], context: [UInt8], purpose: SealingPurpose = .refreshToken) {
        self.place = place
        self.sealed = sealed
        self.context = context
        self.purpose = purpose
    }
}

/// The key that the last started server sealed with.
package struct SealingKeyStamp: Hashable, Sendable {
    package var keyID: String
    /// When a server first started with it; nil when that was before Bramley recorded it.
    package var since: Timestamp?

    package init(keyID: String, since: Timestamp?) {
        self.keyID = keyID
        self.since = since
    }
}

/// The store, as `Resealing` works through it while a server may run.
package protocol SealedTokenStore: Sendable {
    /// Nil in a database that no server has stamped.
    func sealingKeyStamp() async throws(StoreError) -> SealingKeyStamp?
    func sealedTokenCount() async throws(StoreError) -> Int
    /// At most `limit` tokens after `place`, in a stable order; nil begins at the first.
    func sealedTokens(after place: SealedToken.Place?, limit: Int) async throws(StoreError) -> [SealedToken]
    /// Replaces each seal that is still as it was read; a newer token, or a removed one, is left alone.
    /// - Returns: how many were replaced.
    func replaceSealedTokens(
        _ changes: [(token: SealedToken, sealed: [UInt8])]
    ) async throws(StoreError) -> Int
    /// When the latest entry about a deleted person was made, before `moment` or at all. Such entries are found by a
    /// hash under the key of their time.
    func lastDeletion(before moment: Timestamp?) async throws(StoreError) -> Timestamp?
    /// Removes the replaced seals from the database's log too.
    func forgetReplacedSeals() async throws(StoreError)
}
