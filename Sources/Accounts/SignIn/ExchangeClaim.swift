package import Coding
package import Crypto

/// The right to send one authorization code to Apple, recorded durably before it is sent: whatever happens afterwards,
/// no retry, second connection or process after a crash sends it again without knowing that Apple did not redeem it.
package struct ExchangeClaim: Hashable, Sendable {
    /// How long an exchange may take, in seconds: longer than the HTTP client allows. An older claim that is neither
    /// completed nor settled belongs to a process that ended.
    package static let flightTime: Int64 = 30

    /// The attempt the code belongs to.
    package var attempt: Digest256
    /// The whole request, to tell an identical one from another with the same nonce.
    package var request: Digest256
    package var begunAt: Timestamp
    /// When the row may be deleted.
    package var expiresAt: Timestamp
}

/// A name given at first consent, and whose it is.
package struct FirstConsent: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var name: PersonName
}

package enum ExchangeClaimResult: Hashable, Sendable {
    /// The caller has the claim: the code may be sent, once.
    case begun
    /// Another request had it first. `isSpent` when that exchange has ended and Apple may have redeemed the code.
    case taken(request: Digest256, begunAt: Timestamp, isSpent: Bool)
}

/// A refresh token that came with an account's deletion, sealed for storage.
package struct FreshCredential: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var clientID: ClientID
    package var sealedRefreshToken: [UInt8]
    /// `iat` of the accompanying token, by Apple's clock.
    package var issuedAt: Timestamp
}
