import Coding

package enum SignInFlow: String, Sendable, CaseIterable {
    /// A post to the callback.
    case web
    /// An app's request.
    case native
}

package enum SignInEnd: Hashable, Sendable, CaseIterable {
    case signedIn
    /// A late replay whose session is live.
    case alreadySignedIn
    /// The page that posts the form again; another post follows.
    case reposted
    /// The page that asks about an existing account.
    case asksExisting
    case linkAuthorized
    case linkFailed
    case refused(SignInRefusal)
    /// An app's code that an earlier identical request used up.
    case refusedBefore
    case failed(ReasonCode)

    package static var allCases: [SignInEnd] {
        [
            .signedIn, .alreadySignedIn, .reposted, .asksExisting, .linkAuthorized, .linkFailed, .refused(.pending),
            .refused(.disabled), .refused(.closed), .refusedBefore,
        ] + ReasonCode.signIns.map { .failed($0) }
    }

    /// The value of the label `outcome`.
    package var outcome: String {
        switch self {
        case .signedIn: "signed_in"
        case .alreadySignedIn: "already_signed_in"
        case .reposted: "reposted"
        case .asksExisting: "asked_existing"
        case .linkAuthorized: "link_authorized"
        case .linkFailed: "link_failed"
        case .refused, .refusedBefore: "refused"
        case .failed: "failed"
        }
    }

    /// The value of the label `reason`: the code of the log line; empty where no reason applies.
    package var reason: String {
        switch self {
        case .refused(let refusal): refusal.code.rawValue
        case .refusedBefore: "refused_before"
        case .failed(let reason): reason.rawValue
        case .signedIn, .alreadySignedIn, .reposted, .asksExisting, .linkAuthorized, .linkFailed: ""
        }
    }

    init(_ outcome: SignInOutcome) {
        self =
            switch outcome {
            case .signedIn: .signedIn
            case .alreadySignedIn: .alreadySignedIn
            case .repost: .reposted
            case .refused(let refusal, _): .refused(refusal)
            case .failed(let failure, _, _):
                ReasonCode.signIns.contains(failure.code) ? .failed(failure.code) : .linkFailed
            case .cancelled: .failed(.cancelled)
            case .linkAuthorized: .linkAuthorized
            case .asksExisting: .asksExisting
            }
    }

    init(_ outcome: NativeSignInOutcome) {
        self =
            switch outcome {
            case .signedIn: .signedIn
            case .refused(let refusal, _): .refused(refusal)
            case .refusedBefore: .refusedBefore
            case .failed(let failure): .failed(failure.code)
            }
    }
}

/// The labels by which Apple's notifications are counted.
package enum NotificationMetrics {
    /// The value of the label `type`: Apple's, with one for both spellings of a deletion.
    package enum Kind: String, Sendable, CaseIterable {
        case emailDisabled = "email-disabled"
        case emailEnabled = "email-enabled"
        case consentRevoked = "consent-revoked"
        case accountDeleted = "account-deleted"
        /// Verified, but of an unknown type.
        case other
        /// Not verified, so its content is ignored.
        case unverified

        init(_ kind: AppleNotification.Kind) { self = Self(rawValue: kind.rawValue) ?? .other }
    }

    /// The value of the label `outcome`.
    package enum End: String, Sendable, CaseIterable {
        case applied, duplicate, stale
        case unknownSubject = "unknown_subject"
        case unknownType = "unknown_type"
        /// Not Apple's, or not for this site: 400.
        case refused
        /// Signed by Apple for an app that is not in `apple.bundleIDs`: 400.
        case otherAudience = "other_audience"
        case keysUnavailable = "keys_unavailable"
        /// The durable write failed: 503.
        case storage

        init(_ outcome: NotificationOutcome) {
            self =
                switch outcome {
                case .applied: .applied
                case .duplicate: .duplicate
                case .stale: .stale
                case .unknownSubject: .unknownSubject
                case .unknownType: .unknownType
                }
        }

        /// Whether a post of this kind can end this way.
        package func isPossible(_ kind: Kind) -> Bool {
            switch self {
            case .refused, .otherAudience, .keysUnavailable: kind == .unverified
            case .applied, .duplicate, .stale, .unknownSubject, .unknownType, .storage: kind != .unverified
            }
        }
    }
}
