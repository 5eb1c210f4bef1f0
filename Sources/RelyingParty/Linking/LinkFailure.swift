/// Why a step of a link did not succeed. `reason` is the code of the answer and of the operator's log line.
package enum LinkFailure: StoreFailure, Hashable, Sendable {
    /// What the application or the app sent cannot be; the text is for its developer.
    case invalid(String)
    /// No such link, or not this ticket's: one answer for both.
    case unknown
    /// Its time is over.
    case expired
    /// Refused, removed, or past that step.
    case ended
    /// An upgrade that stands, whose session can be had no more: its person signs in with Apple.
    case completed
    /// Not the code of this link. Five of them end it.
    case codeInvalid
    /// The second factor is outstanding.
    case secondFactorRequired
    /// The tries at the second factor are used up.
    case upgradeEnded
    /// The Apple identity's user has another external ID.
    case identityLinkedElsewhere
    /// Another user has this external ID, or is about to.
    case accountAlreadyLinked
    /// The application refused (`retryAfter` is nil; the link is removed), or has not answered: it is asked on, and the
    /// same request may be sent again after this many seconds.
    case conversionFailed(retryAfter: Int64?)
    /// The verifier did not answer, or nonsense; the text is for the operator.
    case verifierUnavailable(String)
    /// No verifier is configured.
    case notConfigured
    /// Too many tries at one account; seconds until the next one.
    case tooMany(retryAfter: Int64)
    case userPending
    case userDisabled
    /// Apple's part failed, as it does at a sign-in.
    case signIn(SignInFailure)
    case storage(String)

    package init(store error: StoreError) { self = .storage(error.text) }

    package var reason: String { reasonCode.rawValue }

    package var reasonCode: ReasonCode {
        switch self {
        case .invalid: .invalidRequest
        case .unknown: .linkUnknown
        case .expired: .linkExpired
        case .ended: .linkEnded
        case .completed: .linkCompleted
        case .codeInvalid: .codeInvalid
        case .secondFactorRequired: .secondFactorRequired
        case .upgradeEnded: .upgradeEnded
        case .identityLinkedElsewhere: .identityLinkedElsewhere
        case .accountAlreadyLinked: .accountAlreadyLinked
        case .conversionFailed: .conversionFailed
        case .verifierUnavailable: .verifierUnavailable
        case .notConfigured: .upgradesNotConfigured
        case .tooMany: .tooManyRequests
        case .userPending: .userPending
        case .userDisabled: .userDisabled
        case .signIn(let failure): failure.reasonCode
        case .storage: .storage
        }
    }

    /// What only the operator reads.
    package var detail: String? {
        switch self {
        case .invalid(let text), .verifierUnavailable(let text), .storage(let text): text
        case .signIn(let failure): failure.detail
        default: nil
        }
    }

    /// Whether the same request may succeed later.
    package var isTemporary: Bool {
        switch self {
        case .conversionFailed(let retryAfter): retryAfter != nil
        case .verifierUnavailable, .tooMany, .storage: true
        case .signIn(let failure): failure.isTemporary
        default: false
        }
    }

    /// As a failed link keeps it. Whoever asks again is answered as the first time.
    package var stored: String {
        if case .conversionFailed(.some) = self { Self.conversionPending } else { reason }
    }

    private static let conversionPending = "conversion_pending"

    /// What a failed link answers to whoever asks again: why it failed, as it is stored.
    package init(stored reason: String?) {
        let known: [LinkFailure] = [
            .identityLinkedElsewhere, .accountAlreadyLinked, .conversionFailed(retryAfter: nil), .userPending,
            .userDisabled, .upgradeEnded, .signIn(.revoked),
        ]
        switch reason {
        case ConversionRule.Obstacle.accountChanged.rawValue: self = .conversionFailed(retryAfter: nil)
        case Self.conversionPending: self = .conversionFailed(retryAfter: Conversions.pauses[0])
        default: self = known.first { $0.reason == reason } ?? .ended
        }
    }
}
