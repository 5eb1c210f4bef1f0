package import Coding

/// What a verified notification about a known person changes: the same rules for every store.
package enum NotificationEffect: Hashable, Sendable {
    /// Ends sessions and refresh tokens of sign-ins with `iat` ≤ the event's time, ties included. When no sign-in is
    /// later, the person's authorization itself is gone and `loss` says what that means.
    case end(SessionEndCause, loss: AuthorizationLoss?)
    case emailForwarding(Bool)
    /// An e-mail event older than the last one applied, or about an address that the person no longer has.
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
    ///   - address: the person's present one. Apple's word on another, which came late, says nothing of this.
    package init(
        of notification: AppleNotification, lastSignIn: Timestamp, lastEmailEvent: Timestamp?,
        address: EmailAddress? = nil, onAccountDeleted: AccountDeletionPolicy
    ) {
        let isLatest = lastSignIn <= notification.eventTime
        switch notification.kind {
        case .consentRevoked:
            self = .end(.consentRevoked, loss: isLatest ? .revoked : nil)
        case .accountDeleted:
            let loss: AuthorizationLoss = onAccountDeleted == .erase ? .erased : .disabled
            self = .end(.accountDeleted, loss: isLatest ? loss : nil)
        case .emailDisabled, .emailEnabled:
            let isLate = lastEmailEvent.map { notification.eventTime < $0 } ?? false
            if isLate || Self.isAboutAnother(notification.email, than: address) {
                self = .stale
            } else {
                self = .emailForwarding(notification.kind == .emailEnabled)
            }
        case .unknown:
            self = .unknownType
        }
    }

    /// An event need not name an address, nor a person have one.
    private static func isAboutAnother(_ named: EmailAddress?, than present: EmailAddress?) -> Bool {
        guard let named, let present else { return false }
        return !named.address.lowercased().isExactly(present.address.lowercased())
    }
}
