package import Coding
import Storage

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

// What a completed sign-in changes about a person.
extension User {
    /// A new person.
    package init(
        id: UserID, state: State, claims: IdentityClaims, firstConsent: PersonName?, createdAt: Timestamp
    ) {
        self.init(
            id: id, state: state, appleSubject: claims.subject,
            credential: CredentialStatus(state: .authorized, changedAt: claims.issuedAt, cause: .signIn),
            createdAt: createdAt)
        name = firstConsent ?? PersonName()
        email = claims.email
        realUserStatus = claims.realUserStatus
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

extension Database {
    /// - Parameter condition: nil always holds.
    package func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition? = nil, at now: Timestamp
    ) async throws(Failure) -> UserPatchResult {
        try await patchUser(id, if: condition, at: now) { _ in patch }
    }

    /// A patch that depends on the user's present state: no other write comes between reading and writing.
    /// - Parameters:
    ///   - groups: `operator.groups`, of whose active people one must be left; empty for whoever is no operator.
    ///   - change: nil leaves the user as they are, and `patched` returns them. May be called twice.
    package func patchUser(
        _ id: UserID, if condition: UserCondition? = nil, keepingOneOf groups: [String] = [], at now: Timestamp,
        _ change: @escaping @Sendable (User) -> UserPatch?
    ) async throws(Failure) -> UserPatchResult {
        try await write(at: now) { transaction in
            guard let before = try transaction.user(id) else { return .unknown }
            guard condition?(before) ?? true else { return .conditionFailed }
            guard let patch = change(before) else { return .patched(before) }
            guard !before.isProtected(from: patch) else { return .groupProtected }
            if let externalID = patch.externalID ?? nil,
                let owner = try transaction.owner(ofExternalID: externalID), owner != id
            {
                return .externalIDTaken(by: owner)
            }
            let after = before.applying(patch)
            guard try after.isOperator(groups) || !transaction.isLastOperator(before, of: groups) else {
                return .lastOperator
            }
            try transaction.change(before, to: after)
            return .patched(after)
        }
    }

    /// Deletes the user and all their data in one transaction: sessions end, names, addresses and notification payloads
    /// are erased, and each live refresh token is queued for revocation at Apple, under a keyed hash of the subject.
    /// The journal keeps ids.
    /// - Parameters:
    ///   - condition: nil always holds.
    ///   - groups: as for `patchUser`.
    package func deleteUser(
        _ id: UserID, if condition: UserCondition? = nil, keepingOneOf groups: [String] = [], at now: Timestamp
    ) async throws(Failure) -> UserDeletion {
        try await write(at: now) { transaction in
            guard try transaction.exists("SELECT 1 FROM user WHERE id = ?", [id]) else {
                return .unknown
            }
            if condition != nil || !groups.isEmpty {
                guard let user = try transaction.user(id), condition?(user) ?? true else { return .conditionFailed }
                if try transaction.isLastOperator(user, of: groups) { return .lastOperator }
            }
            return try transaction.deleteUser(id)
        }
    }
}

extension Transaction {
    /// Writes what differs, with its events.
    func change(_ before: User, to after: User) throws {
        let fields = before.changedFields(comparedWith: after)
        guard !fields.isEmpty else { return }
        try update(after)
        try record(.userUpdated, user: before.id, fields: fields)
        try audit(before.state, to: after.state, of: before.id, reason: nil)
        invalidate(.user(before.id))
        if fields.contains("groups") { try endLeftClients(after) }
        // Who waits for approval may no more be here than who is disabled.
        if after.state != .active, before.state == .active {
            try endSessions(of: before.id, cause: .userDisabled)
        }
    }

    /// Deletes somebody who exists.
    func deleteUser(_ id: UserID) throws -> UserDeletion {
        var revocations = 0
        try endSessions(where: "s.user = ?", [id], cause: .accountDeleted)
        try record(.accountDeleted, user: id)
        invalidate(.user(id))
        for identity in try leavingIdentities(where: "i.user = ?", [id]) {
            revocations += try queueRevocations(identity)
            try eraseTraces(of: identity)
        }
        // Deletes identities, credentials and sessions with it.
        try run("DELETE FROM user WHERE id = ?", [id])
        return .deleted(revocations: revocations)
    }
}
