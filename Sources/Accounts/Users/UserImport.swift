package import Coding

/// Somebody who signed in to the team's applications with Apple before Bramley was used.
package struct ImportedPerson: Hashable, Sendable {
    /// A refresh token the team holds.
    package struct Credential: Hashable, Sendable {
        package var clientID: ClientID
        /// Under `SealingPurpose.refreshToken`, as a sign-in seals it.
        package var sealedRefreshToken: [UInt8]

        package init(clientID: ClientID, sealedRefreshToken: [UInt8]) {
            self.clientID = clientID
            self.sealedRefreshToken = sealedRefreshToken
        }
    }

    /// The id they get if they are new.
    package var newUser: UserID
    package var subject: AppleSubject
    package var externalID: String?
    /// If they are new.
    package var state: User.State
    package var name: PersonName
    package var email: EmailAddress?
    package var credential: Credential?

    package init(
        newUser: UserID, subject: AppleSubject, externalID: String? = nil, state: User.State = .active,
        name: PersonName = PersonName(), email: EmailAddress? = nil, credential: Credential? = nil
    ) {
        self.newUser = newUser
        self.subject = subject
        self.externalID = externalID
        self.state = state
        self.name = name
        self.email = email
        self.credential = credential
    }

    /// The `iat` that means "no sign-in here": every notification of Apple is later.
    package static let signInTime = Timestamp(milliseconds: 0)
}

/// The result for one person of an import.
package enum ImportResult: Hashable, Sendable {
    case imported(UserID)
    /// A known person; something empty was filled.
    case updated(UserID)
    /// A known person; nothing empty could be filled.
    case unchanged(UserID)
    case refused(ImportRefusal)
}

/// Why a person was not imported. Nothing about them was written.
package enum ImportRefusal: Hashable, Sendable {
    case externalIDTaken(by: UserID)
    /// They have another external id, which an import does not replace.
    case otherExternalID(of: UserID)
    /// They were deleted here, and their tokens wait to be revoked at Apple.
    case beingDeleted
}

extension User {
    /// Fills only what is empty: values from Apple or the application are newer.
    /// - Returns: the names of the changed fields, as in the API.
    package mutating func fill(from person: ImportedPerson) -> [String] {
        let before = self
        if externalID == nil { externalID = person.externalID }
        if email == nil { email = person.email }
        name.fill(from: person.name)
        return before.changedFields(comparedWith: self)
    }
}
