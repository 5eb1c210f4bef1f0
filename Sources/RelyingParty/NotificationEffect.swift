package import Coding

/// What a verified notification about a known person changes: the same rules for every store.
package enum NotificationEffect: Hashable, Sendable {
    /// Ends sessions and refresh tokens of sign-ins with `iat` ≤ the event's time, ties included. When no sign-in is
    /// later, the person's authorization itself is gone and `loss` says what that means.
    case end(SessionEndCause, loss: AuthorizationLoss?)
    case emailForwarding(Bool)
    /// An e-mail event older than the last one applied.
    case stale
    case unknownType

    /// What becomes of the person when the event is newer than every sign-in.
    package enum AuthorizationLoss: Hashable, Sendable {
        /// The user stays; the next sign-in is a first one again.
        case revoked
        case erased
        case disabled
    }

    /// - Parameters:
    ///   - lastSignIn: the latest `iat` of this identity's sign-ins, Apple's clock.
    ///   - lastEmailEvent: the time of the last e-mail event applied.
    package init(
        of notification: AppleNotification, lastSignIn: Timestamp, lastEmailEvent: Timestamp?,
        onAccountDeleted: AccountDeletionPolicy
    ) {
        let isLatest = lastSignIn <= notification.eventTime
        switch notification.kind {
        case .consentRevoked:
            self = .end(.consentRevoked, loss: isLatest ? .revoked : nil)
        case .accountDeleted:
            let loss: AuthorizationLoss = onAccountDeleted == .erase ? .erased : .disabled
            self = .end(.accountDeleted, loss: isLatest ? loss : nil)
        case .emailDisabled, .emailEnabled:
            if let lastEmailEvent, notification.eventTime < lastEmailEvent {
                self = .stale
            } else {
                self = .emailForwarding(notification.kind == .emailEnabled)
            }
        case .unknown:
            self = .unknownType
        }
    }
}
