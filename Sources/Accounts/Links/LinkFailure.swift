package import Storage

/// Why a step of a link failed. `reason` is the code in the answer and in the operator's log.
package enum LinkFailure: StoreFailure, Hashable, Sendable {
    /// The application or app sent something invalid; the text is for its developer.
    case invalid(String)
    /// No such link, or not this ticket's: one answer for both.
    case unknown
    /// The link has expired.
    case expired
    /// Refused, past that step, or no longer what opens the account.
    case ended
    /// Not this link's code. The fifth wrong code ends the link.
    case codeInvalid
    /// The Apple identity's user has another external ID.
    case identityLinkedElsewhere
    /// Another user has this external ID.
    case accountAlreadyLinked
    /// Too many requests from one address; seconds until the next one.
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
        case .codeInvalid: .codeInvalid
        case .identityLinkedElsewhere: .identityLinkedElsewhere
        case .accountAlreadyLinked: .accountAlreadyLinked
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
        case .invalid(let text), .storage(let text): text
        case .signIn(let failure): failure.detail
        default: nil
        }
    }

    /// Whether the same request may succeed later.
    package var isTemporary: Bool {
        switch self {
        case .tooMany, .storage: true
        case .signIn(let failure): failure.isTemporary
        default: false
        }
    }

    /// The stored failure of a link, for repeated requests.
    package init(stored reason: String?) {
        let known: [LinkFailure] = [
            .identityLinkedElsewhere, .accountAlreadyLinked, .userPending, .userDisabled, .signIn(.revoked),
        ]
        self = known.first { $0.reason == reason } ?? .ended
    }
}
