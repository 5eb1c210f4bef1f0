package import Coding
package import Crypto

/// The right to send one authorization code to Apple, taken durably before it is sent: whatever happens afterwards, no
/// retry, no second connection and no process after a crash sends it again without knowing that Apple did not redeem
/// it.
package struct ExchangeClaim: Hashable, Sendable {
    /// How long an exchange may be under way, in seconds: longer than the HTTP client lets it. A claim that is older
    /// and neither completed nor settled is that of a process that ended.
    package static let flightTime: Int64 = 30

    /// The attempt the code belongs to.
    package var attempt: Digest256
    /// The whole request, so that an identical one is told from another with the same nonce.
    package var request: Digest256
    package var begunAt: Timestamp
    /// When the row may go.
    package var expiresAt: Timestamp

    package init(attempt: Digest256, request: Digest256, begunAt: Timestamp, expiresAt: Timestamp) {
        self.attempt = attempt
        self.request = request
        self.begunAt = begunAt
        self.expiresAt = expiresAt
    }
}

/// A name given at first consent, and whose it is.
package struct FirstConsent: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var name: PersonName

    package init(team: TeamID, subject: AppleSubject, name: PersonName) {
        self.team = team
        self.subject = subject
        self.name = name
    }
}

package enum ExchangeClaimResult: Hashable, Sendable {
    /// The claim is the caller's: the code may be sent, once.
    case begun
    /// Somebody had it before. `isSpent` when that exchange is over and Apple may have redeemed the code.
    case taken(request: Digest256, begunAt: Timestamp, isSpent: Bool)
}

/// A refresh token that an account's deletion brought, sealed for storage.
package struct FreshCredential: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var clientID: ClientID
    package var sealedRefreshToken: [UInt8]
    /// `iat` of the token beside it, Apple's clock.
    package var issuedAt: Timestamp

    package init(
        team: TeamID, subject: AppleSubject, clientID: ClientID, sealedRefreshToken: [UInt8], issuedAt: Timestamp
    ) {
        self.team = team
        self.subject = subject
        self.clientID = clientID
        self.sealedRefreshToken = sealedRefreshToken
        self.issuedAt = issuedAt
    }
}
