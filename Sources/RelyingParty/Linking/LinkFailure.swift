/// Why a step of a link failed. `reason` is the code in the answer and in the operator's log.
package enum LinkFailure: StoreFailure, Hashable, Sendable {
    /// The application or app sent something invalid; the text is for its developer.
    case invalid(String)
    /// No such link, or not this ticket's: one answer for both.
    case unknown
    /// The link has expired.
    case expired
    /// Refused, removed, or past that step.
    case ended
    /// A completed upgrade whose session can no longer be obtained: the person signs in with Apple.
    case completed
    /// Not this link's code. The fifth wrong code ends the link.
    case codeInvalid
    /// The second factor is outstanding.
    case secondFactorRequired
    /// All second-factor tries are used.
    case upgradeEnded
    /// The Apple identity's user has another external ID.
    case identityLinkedElsewhere
    /// Another user has this external ID, or is about to.
    case accountAlreadyLinked
    /// The application refused (`retryAfter` is nil; the link is removed), or has not answered yet: it is asked again,
    /// and the same request may be sent again after this many seconds.
    case conversionFailed(retryAfter: Int64?)
    /// The verifier did not answer, or not usefully; the text is for the operator.
    case verifierUnavailable(String)
    /// No verifier is configured.
    case notConfigured
    /// Too many tries for one account; seconds until the next one.
    case tooMany(retryAfter: Int64)
    case userPending
    case userDisabled
    /// Apple's part failed, as at a sign-in.
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

    /// For the operator only.
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

    /// The failure as a failed link stores it, so that repeated requests get the first answer.
    package var stored: String {
        if case .conversionFailed(.some) = self { Self.conversionPending } else { reason }
    }

    private static let conversionPending = "conversion_pending"

    /// The stored failure of a link, for repeated requests.
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
