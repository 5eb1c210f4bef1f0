package import Coding

// What a completed sign-in changes about a person: the same rules for every store.
extension User {
    /// A person seen for the first time.
    package init(
        id: UserID, state: State, claims: IdentityClaims, firstConsent: PersonName?, createdAt: Timestamp
    ) {
        self.init(
            id: id, state: state, name: firstConsent ?? PersonName(), email: claims.email,
            realUserStatus: claims.realUserStatus, appleSubject: claims.subject,
            credential: CredentialStatus(state: .authorized, changedAt: claims.issuedAt, cause: .signIn),
            createdAt: createdAt)
    }

    /// Takes over what a verified token says and the name from first consent.
    /// - Returns: the names of the changed fields, as the API calls them; empty when nothing changed.
    package mutating func absorb(_ claims: IdentityClaims, firstConsent: PersonName?) -> [String] {
        let before = self
        if let email = claims.email {
            // Apple's word on forwarding was about the address it named.
            if let old = self.email, old.address != email.address { emailForwarding = nil }
            self.email = email
        }
        if let status = claims.realUserStatus { realUserStatus = status }
        if let firstConsent { name.fill(from: firstConsent) }
        let event = CredentialEvent.signIn(issuedAt: claims.issuedAt)
        // No sign-in takes an identity away.
        identityCredential =
            CredentialStatus.transition(from: identityCredential, on: event, lastSignIn: claims.issuedAt)
            ?? identityCredential
        return before.changedFields(comparedWith: self)
    }

    /// The fields in which two versions of a user differ, as the API calls them.
    package func changedFields(comparedWith other: User) -> [String] {
        var fields: [String] = []
        if state != other.state { fields.append("state") }
        // By bytes: to an application two spellings of one text are two ids.
        if externalID.map({ Array($0.utf8) }) != other.externalID.map({ Array($0.utf8) }) {
            fields.append("externalID")
        }
        if groups.map({ Array($0.utf8) }) != other.groups.map({ Array($0.utf8) }) { fields.append("groups") }
        if name != other.name { fields.append("name") }
        if email?.address != other.email?.address { fields.append("email") }
        if email?.isVerified != other.email?.isVerified { fields.append("emailVerified") }
        if email?.isPrivate != other.email?.isPrivate { fields.append("isPrivateEmail") }
        if emailForwarding != other.emailForwarding { fields.append("emailForwarding") }
        if realUserStatus != other.realUserStatus { fields.append("realUserStatus") }
        if appleSubject.rawValue.isExactly(other.appleSubject.rawValue) == false { fields.append("appleSubject") }
        if credential.state != other.credential.state { fields.append("credentialState") }
        return fields
    }
}

extension PersonName {
    /// Fills empty places only, and never mixes two names: one half is taken only beside an equal other half.
    package mutating func fill(from other: PersonName) {
        if isEmpty {
            self = other
        } else if given == nil, family == other.family {
            given = other.given
        } else if family == nil, given == other.given {
            family = other.family
        }
    }
}

// What a transfer to another team changes about a person.
extension User {
    /// The relay gives the same person another address for another team. An address of their own stays.
    package mutating func takeRelayAddress(_ address: EmailAddress?) {
        guard let address, address.isPrivate, email?.isPrivate ?? true else { return }
        // Apple's word on forwarding was about the address it named.
        if let old = email, old.address != address.address { emailForwarding = nil }
        email = address
    }

    /// Takes over what a second account of the same person knows and this one does not; what Apple said is newer there.
    /// The state stays.
    package mutating func absorb(_ second: User) {
        if externalID == nil { externalID = second.externalID }
        let more = second.groups.filter { group in !groups.contains { Array($0.utf8) == Array(group.utf8) } }
        groups += more.prefix(max(0, UserLimits.groups - groups.count))
        name.fill(from: second.name)
        if let address = second.email {
            email = address
            emailForwarding = second.emailForwarding
        }
        realUserStatus = realUserStatus ?? second.realUserStatus
    }
}
