package import Coding

/// What a verified notification changes for a known person: the same rules for every store.
package enum NotificationEffect: Hashable, Sendable {
    /// Ends sessions and refresh tokens of sign-ins with `iat` ≤ the event's time, ties included. When no sign-in is
    /// later, the authorization itself is gone, and `loss` says what that means.
    case end(SessionEndCause, loss: AuthorizationLoss?)
    case emailForwarding(Bool)
    /// An email event older than the last one applied, or about a former address.
    case stale
    case unknownType

    /// What happens to the person when the event is newer than every sign-in.
    package enum AuthorizationLoss: Hashable, Sendable {
        /// The user stays; the next sign-in counts as a first one.
        case revoked
        case erased
        case disabled
    }

    /// - Parameters:
    ///   - lastSignIn: the latest `iat` of this identity's sign-ins, by Apple's clock.
    ///   - told: when Apple last reported the person's address, and forwarding.
    ///   - address: the person's address.
    package init(
        of notification: AppleNotification, lastSignIn: Timestamp, told: LastTold, address: EmailAddress?,
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
            let isOld = told.forwarding.map { notification.eventTime < $0 } ?? false
            let isBeforeAddress = told.email.map { notification.eventTime < $0 } ?? false
            if isOld || isBeforeAddress && notification.isAboutOther(than: address) {
                self = .stale
            } else {
                self = .emailForwarding(notification.kind == .emailEnabled)
            }
        case .unknown:
            self = .unknownType
        }
    }
}

extension AppleNotification {
    /// Whether it names a different address.
    package func isAboutOther(than address: EmailAddress?) -> Bool {
        guard let email else { return false }
        return address.map { !$0.address.isExactly(email.address) } ?? true
    }
}
