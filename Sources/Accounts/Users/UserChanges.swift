package import Coding

/// When Apple last reported things that may change, by its own clock: `iat` of an identity token, in whole seconds
/// taken at their beginning, or the time of an event. Older reports change nothing; of two tokens of one second the
/// later to arrive counts. Nil: Apple has reported nothing.
package struct LastTold: Hashable, Sendable {
    /// About the address, whether it is verified and whether it is private.
    package var email: Timestamp?
    /// About forwarding; only events report it.
    package var forwarding: Timestamp?
    package var realUserStatus: Timestamp?
}

extension LastTold {
    /// Of a person's first sign-in.
    init(_ claims: IdentityClaims) {
        self.init(
            email: claims.email == nil ? nil : claims.issuedAt,
            realUserStatus: claims.realUserStatus == nil ? nil : claims.issuedAt)
    }
}

// What a completed sign-in changes about a person: the same rules for every store.
extension User {
    /// A new person.
    package init(
        id: UserID, state: State, claims: IdentityClaims, firstConsent: PersonName?, createdAt: Timestamp
    ) {
        self.init(
            id: id, state: state, name: firstConsent ?? PersonName(), email: claims.email,
            realUserStatus: claims.realUserStatus, appleSubject: claims.subject,
            credential: CredentialStatus(state: .authorized, changedAt: claims.issuedAt, cause: .signIn),
            createdAt: createdAt)
    }

    /// Applies what a verified token says, unless Apple has reported something newer, and the name from first consent.
    /// - Parameter told: Apple's last reports; afterwards includes this token.
    /// - Returns: the names of the changed fields, as in the API; empty when nothing changed.
    package mutating func absorb(
        _ claims: IdentityClaims, firstConsent: PersonName?, told: inout LastTold
    ) -> [String] {
        let before = self
        func isNewest(_ last: Timestamp?) -> Bool { last.map { $0 <= claims.issuedAt } ?? true }
        if let email = claims.email, isNewest(told.email) {
            // Apple's report on forwarding concerned the address it named.
            if let old = self.email, old.address != email.address, isNewest(told.forwarding) { emailForwarding = nil }
            self.email = email
            told.email = claims.issuedAt
        }
        if let status = claims.realUserStatus, isNewest(told.realUserStatus) {
            realUserStatus = status
            told.realUserStatus = claims.issuedAt
        }
        if let firstConsent { name.fill(from: firstConsent) }
        let event = CredentialEvent.signIn(issuedAt: claims.issuedAt)
        // A sign-in removes no identity.
        identityCredential =
            CredentialStatus.transition(from: identityCredential, on: event, lastSignIn: claims.issuedAt)
            ?? identityCredential
        return before.changedFields(comparedWith: self)
    }

    /// The fields in which two versions of a user differ, as in the API.
    package func changedFields(comparedWith other: User) -> [String] {
        var fields: [String] = []
        if state != other.state { fields.append("state") }
        // By bytes: to an application, two spellings of one text are two ids.
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
    /// Fills only empty places and never mixes two names: one half is used only if the other half is equal.
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
    package mutating func adoptRelayAddress(_ address: EmailAddress?) {
        guard let address, address.isPrivate, email?.isPrivate ?? true else { return }
        // Apple's report on forwarding concerned the address it named.
        if let old = email, old.address != address.address { emailForwarding = nil }
        email = address
    }

    /// Adopts what only a second account of the same person knows, and the newer address. The state stays.
    /// - Parameters:
    ///   - told: Apple's last reports for this account; afterwards for both.
    ///   - secondTold: the same for the second account.
    package mutating func absorb(_ second: User, told: inout LastTold, _ secondTold: LastTold) {
        if externalID == nil { externalID = second.externalID }
        let more = second.groups.filter { group in !groups.contains { Array($0.utf8) == Array(group.utf8) } }
        groups += more.prefix(max(0, UserLimits.groups - groups.count))
        name.fill(from: second.name)
        let isNewer = (secondTold.email?.milliseconds ?? .min) >= (told.email?.milliseconds ?? .min)
        if let address = second.email, email == nil || isNewer {
            email = address
            emailForwarding = second.emailForwarding
            told.forwarding = secondTold.forwarding
        }
        realUserStatus = realUserStatus ?? second.realUserStatus
    }
}
