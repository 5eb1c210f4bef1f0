package import Coding

/// A revocation that Apple has not acknowledged, as the operator sees it. It names nobody and contains no token.
package struct RevocationReport: Hashable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// Not asked yet.
        case waiting
        /// Apple did not answer or refused us, or no sealing key opens the token; will be tried again.
        case retrying
        /// Apple is being asked at this moment.
        case asking
        /// Given up, and the token erased: the person can end the authorization in their Apple Account.
        case failed
    }

    package var id: Int64
    package var clientID: ClientID
    package var state: State
    /// When the account was deleted.
    package var queuedAt: Timestamp
    /// Nil when given up.
    package var nextAttemptAt: Timestamp?
    package var attempts: Int
    /// Why the last attempt failed: a reason of `TokenRevocationFailure`, or `unreadable`.
    package var failure: String?

    /// When it is given up unless Apple answers.
    package var endsAt: Timestamp { queuedAt.adding(seconds: QueuedRevocation.lifetime) }
}
