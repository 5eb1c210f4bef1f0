package import Coding

/// A person: at Apple identified by (team, sub), here by `UserID`.
package struct User: Hashable, Sendable {
    /// Whether this person may use the applications behind Bramley.
    package enum State: String, Sendable, CaseIterable {
        case active, pending, disabled
    }

    package var id: UserID
    package var state: State
    /// The application's own id of this person; unique or absent.
    package var externalID: String?
    package var groups: [String]
    package var name: PersonName
    package var email: EmailAddress?
    /// Whether the relay forwards mail, according to Apple; nil when Apple has not said.
    package var emailForwarding: Bool?
    package var realUserStatus: RealUserStatus?
    package var appleSubject: AppleSubject
    /// Apple's last report about the identity that `appleSubject` names.
    package var identityCredential: CredentialStatus
    /// The same for each other identity of the person, except those that moved on to one of these.
    package var otherCredentials: [CredentialStatus]
    package var createdAt: Timestamp

    /// Whether Apple still has the person's consent, through any identity, and since when.
    package var credential: CredentialStatus { .ofPerson(identityCredential, otherCredentials) }
    package var credentialState: CredentialState { credential.state }

    /// - Parameter credential: of the identity; nil means authorized by a sign-in at `createdAt`.
    package init(
        id: UserID, state: State, externalID: String? = nil, groups: [String] = [], name: PersonName = PersonName(),
        email: EmailAddress? = nil, emailForwarding: Bool? = nil, realUserStatus: RealUserStatus? = nil,
        appleSubject: AppleSubject, credential: CredentialStatus? = nil, otherCredentials: [CredentialStatus] = [],
        createdAt: Timestamp
    ) {
        self.id = id
        self.state = state
        self.externalID = externalID
        self.groups = groups
        self.name = name
        self.email = email
        self.emailForwarding = emailForwarding
        self.realUserStatus = realUserStatus
        self.appleSubject = appleSubject
        self.identityCredential =
            credential ?? CredentialStatus(state: .authorized, changedAt: createdAt, cause: .signIn)
        self.otherCredentials = otherCredentials
        self.createdAt = createdAt
    }
}

/// A name as given once, at first consent, through the browser: unsigned, for display only.
package struct PersonName: Hashable, Sendable {
    package var given: String?
    package var family: String?

    package init(given: String? = nil, family: String? = nil) {
        self.given = given
        self.family = family
    }

    package var isEmpty: Bool { given == nil && family == nil }

    /// Given name first, in the order Apple asks for; nil when there is neither.
    package var full: String? {
        let parts = [given, family].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}

/// An address from a verified identity token, with Apple's flags.
package struct EmailAddress: Hashable, Sendable {
    package var address: String
    package var isVerified: Bool
    /// Whether it is a private relay address, according to the flag, never the domain.
    package var isPrivate: Bool

    package init(address: String, isVerified: Bool, isPrivate: Bool) {
        self.address = address
        self.isVerified = isVerified
        self.isPrivate = isPrivate
    }

    /// Domains of Apple's private relay, where nobody has an address of their own, as far as Apple has published. Only
    /// for cases in which Apple's flag is not available: it may add others at any time.
    package static let relayDomains: Set<String> = ["privaterelay.appleid.com", "private.icloud.com"]

    /// Whether an address has one of those domains.
    package static func isAtKnownRelay(_ address: String) -> Bool {
        guard let at = address.lastIndex(of: "@") else { return false }
        return relayDomains.contains(address[address.index(after: at)...].lowercased())
    }
}

extension EmailAddress {
    /// Whether it may stand in header fields and in protocols that know ASCII addresses alone (RFC 5322), where programs
    /// that fold other scripts differently compare it.
    package var isPlain: Bool {
        !address.isEmpty && address.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The address that applications may be told: one that Apple verified, and a plain one. Otherwise nil.
    package var forApplications: String? { isVerified && isPlain ? address : nil }
}

/// `real_user_status`: native apps only, first time only.
package enum RealUserStatus: String, Sendable, CaseIterable {
    case unsupported, unknown, likelyReal
}
