package import Coding
import Storage

/// A person who signed in with Apple at the team's applications before Bramley was used.
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

    /// The ID to use if they are new.
    package var newUser: UserID
    package var subject: AppleSubject
    package var externalID: String?
    /// The state to use if they are new.
    package var state = User.State.active
    package var name = PersonName()
    package var email: EmailAddress?
    package var credential: Credential?

    /// The `iat` that means "no sign-in here": every notification of Apple is later.
    package static let signInTime = Timestamp(milliseconds: 0)
}

extension ImportedPerson {
    package init(newUser: UserID, subject: AppleSubject) {
        self.newUser = newUser
        self.subject = subject
    }
}

package enum ImportResult: Hashable, Sendable {
    case imported(UserID)
    /// A known person, with at least one empty field filled.
    case updated(UserID)
    /// A known person, without an empty field to fill.
    case unchanged(UserID)
    case refused(ImportRefusal)
}

/// Why a person was not imported. Nothing about them was written.
package enum ImportRefusal: Hashable, Sendable {
    case externalIDTaken(by: UserID)
    /// An import does not replace an external id.
    case otherExternalID(of: UserID)
    /// They were deleted, and their tokens are waiting to be revoked at Apple.
    case beingDeleted
}

extension User {
    /// Fills only what is empty, and returns the names of the changed fields, as in the API.
    package mutating func fill(from person: ImportedPerson) -> [String] {
        let before = self
        if externalID == nil { externalID = person.externalID }
        if email == nil { email = person.email }
        name.fill(from: person.name)
        return before.changedFields(comparedWith: self)
    }
}

extension Database {
    /// Imports people in one transaction, in order, each with an event, and returns one result for each. New ones have
    /// the state of their line, whatever the sign-up policy; known ones keep theirs. A rehearsal writes nothing.
    package func importPeople(
        _ people: [ImportedPerson], team: TeamID, isRehearsal: Bool, at now: Timestamp
    ) async throws(Failure) -> [ImportResult] {
        try await write(at: now) { transaction in
            try transaction.rehearse(isRehearsal) { try people.map { try transaction.importPerson($0, to: team) } }
        }
    }
}

extension Transaction {
    fileprivate func importPerson(_ person: ImportedPerson, to team: TeamID) throws -> ImportResult {
        if let known = try self.person(team: team, subject: person.subject) { return try fill(known, from: person) }
        if let refusal = try refusal(ofNew: person, team) { return .refused(refusal) }
        try insert(person, team)
        return .imported(person.newUser)
    }

    private func refusal(ofNew person: ImportedPerson, _ team: TeamID) throws -> ImportRefusal? {
        let isBeingDeleted = try context.subjectHashes.all(team, person.subject).contains { hash in
            try exists("SELECT 1 FROM revocation WHERE subject_hash = ? AND sealed_refresh_token IS NOT NULL", [hash])
        }
        if isBeingDeleted { return .beingDeleted }
        guard let externalID = person.externalID else { return nil }
        return try owner(ofExternalID: externalID).map { .externalIDTaken(by: $0) }
    }

    private func fill(_ known: Person, from person: ImportedPerson) throws -> ImportResult {
        var user = known.user
        if let wanted = person.externalID {
            if let present = user.externalID {
                guard present.isExactly(wanted) else { return .refused(.otherExternalID(of: user.id)) }
            } else if let owner = try owner(ofExternalID: wanted) {
                return .refused(.externalIDTaken(by: owner))
            }
        }
        let fields = user.fill(from: person)
        if !fields.isEmpty {
            try update(user)
            try record(.userUpdated, user: user.id, fields: fields)
            invalidate(.user(user.id))
        }
        // The token of a person who has since withdrawn consent is worthless.
        let tookToken =
            user.identityCredential.state == .authorized
            ? try insert(person.credential, identity: known.identity) : false
        return fields.isEmpty && !tookToken ? .unchanged(user.id) : .updated(user.id)
    }

    private func insert(_ person: ImportedPerson, _ team: TeamID) throws {
        let transition = CredentialStatus.transition(
            from: nil, on: .imported(at: now), lastSignIn: ImportedPerson.signInTime)
        guard let status = transition else { throw StoreError.inconsistent("an import makes no identity") }
        try insert(
            User(
                id: person.newUser, state: person.state, externalID: person.externalID, name: person.name,
                email: person.email, appleSubject: person.subject, credential: status, createdAt: now))
        let identity: Int64 = try insert(
            """
            INSERT INTO apple_identity (id, user, team, subject, credential_state, credential_changed_at,
            credential_cause, last_sign_in_issued_at, created_at)
            VALUES ((SELECT coalesce(max(id), 0) + 1 FROM apple_identity), ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
            """,
            [
                person.newUser, team, person.subject, status.state, status.changedAt, status.cause,
                ImportedPerson.signInTime, now,
            ])
        try insert(person.credential, identity: identity)
        try record(.userCreated, user: person.newUser)
    }

    /// Stores the token of a client that has none yet, not even a dead one, which would be newer.
    @discardableResult
    private func insert(_ credential: ImportedPerson.Credential?, identity: Int64) throws -> Bool {
        guard let credential else { return false }
        return try change(
            """
            INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
            VALUES (?, ?, ?, ?, 'authorized') ON CONFLICT (identity, client_id) DO NOTHING
            """, [identity, credential.clientID, credential.sealedRefreshToken, ImportedPerson.signInTime]) > 0
    }
}
