package import Coding
package import Crypto
import Storage

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
    package var purpose: SealingPurpose = .refreshToken
}

/// The key that the last started server sealed with.
package struct SealingKeyStamp: Hashable, Sendable {
    package var keyID: String
    /// When a server first started with it; nil when that was before Bramley recorded it.
    package var since: Timestamp?
}
