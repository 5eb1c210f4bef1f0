package import Coding
import Storage

/// When Apple last reported things that may change, by its own clock: `iat` of an identity token, in whole seconds, or the
/// time of an event. Older reports change nothing; of two tokens of one second the later to arrive counts. Nil without a
/// report.
package struct LastReports: Hashable, Sendable {
    /// About the address, whether it is verified and whether it is private.
    package var email: Timestamp?
    /// About forwarding; only events report it.
    package var forwarding: Timestamp?
    package var realUserStatus: Timestamp?
    /// Any token: one without `org_id` says that there is no organization.
    package var token: Timestamp?
}

extension LastReports {
    /// The reports of a person's first sign-in.
    init(_ claims: IdentityClaims) {
        self.init(
            email: claims.email == nil ? nil : claims.issuedAt,
            realUserStatus: claims.realUserStatus == nil ? nil : claims.issuedAt, token: claims.issuedAt)
    }
}

extension User {
    package init(id: UserID, state: State, claims: IdentityClaims, firstConsent: PersonName?, createdAt: Timestamp) {
        self.init(
            id: id, state: state, appleSubject: claims.subject,
            credential: CredentialStatus(state: .authorized, changedAt: claims.issuedAt, cause: .signIn),
            createdAt: createdAt)
        name = firstConsent ?? PersonName()
        email = claims.email
        realUserStatus = claims.realUserStatus
        organizationID = claims.organizationID
    }

    /// Applies a verified token's claims, unless Apple has reported something newer, and the name from first consent.
    /// Updates `reports`, and returns the names of the changed fields, as in the API.
    package mutating func absorb(
        _ claims: IdentityClaims, firstConsent: PersonName?, reports: inout LastReports
    ) -> [String] {
        let before = self
        func isNewest(_ last: Timestamp?) -> Bool { last.map { $0 <= claims.issuedAt } ?? true }
        if let email = claims.email, isNewest(reports.email) {
            // The report on forwarding concerned the old address.
            if let old = self.email, old.address != email.address, isNewest(reports.forwarding) {
                emailForwarding = nil
            }
            self.email = email
            reports.email = claims.issuedAt
        }
        if let status = claims.realUserStatus, isNewest(reports.realUserStatus) {
            realUserStatus = status
            reports.realUserStatus = claims.issuedAt
        }
        if isNewest(reports.token) {
            organizationID = claims.organizationID
            reports.token = claims.issuedAt
        }
        if let firstConsent { name.fill(from: firstConsent) }
        let event = CredentialEvent.signIn(issuedAt: claims.issuedAt)
        // A sign-in removes no identity.
        identityCredential =
            CredentialStatus.transition(from: identityCredential, on: event, lastSignIn: claims.issuedAt)
            ?? identityCredential
        return before.changedFields(comparedWith: self)
    }

    /// The relay gives a person another address for another team. Their own address stays.
    package mutating func adoptRelayAddress(_ address: EmailAddress?) {
        guard let address, address.isPrivate, email?.isPrivate ?? true else { return }
        // The report on forwarding concerned the old address.
        if let old = email, old.address != address.address { emailForwarding = nil }
        email = address
    }

    /// Adopts values that only a second account of the same person has, and the newer address and organization. The state
    /// stays; `reports` then covers both.
    package mutating func absorb(_ second: User, reports: inout LastReports, _ secondReports: LastReports) {
        if externalID == nil { externalID = second.externalID }
        let more = second.groups.filter { group in !groups.contains(where: group.isExactly) }
        groups += more.prefix(max(0, UserLimits.groups - groups.count))
        name.fill(from: second.name)
        let isNewer = (secondReports.email?.milliseconds ?? .min) >= (reports.email?.milliseconds ?? .min)
        if let address = second.email, email == nil || isNewer {
            email = address
            emailForwarding = second.emailForwarding
            reports.forwarding = secondReports.forwarding
        }
        realUserStatus = realUserStatus ?? second.realUserStatus
        if let newer = secondReports.token, reports.token.map({ $0 <= newer }) ?? true {
            organizationID = second.organizationID
            reports.token = newer
        }
    }
}

extension PersonName {
    /// Fills only an empty half, and never mixes two names: one half is used only if the other half is equal.
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

extension Database {
    /// - Parameter condition: nil always holds.
    package func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition? = nil, at now: Timestamp
    ) async throws(Failure) -> UserPatchResult {
        try await patchUser(id, if: condition, at: now) { _ in patch }
    }

    /// A patch that depends on the user's present state, in one transaction. One active person must remain in `groups`,
    /// which are `operator.groups`, or empty for callers who are not operators. `change` returns nil to leave the user
    /// as they are; it may be called twice.
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

    /// Deletes the user and all their data in one transaction, if `condition` holds, and queues each live refresh token
    /// for revocation at Apple, under a keyed hash of the subject. The journal keeps ids. `groups` as for `patchUser`.
    package func deleteUser(
        _ id: UserID, if condition: UserCondition? = nil, keepingOneOf groups: [String] = [], at now: Timestamp
    ) async throws(Failure) -> UserDeletion {
        try await write(at: now) { transaction in
            guard try transaction.exists("SELECT 1 FROM user WHERE id = ?", [id]) else { return .unknown }
            if condition != nil || !groups.isEmpty {
                guard let user = try transaction.user(id), condition?(user) ?? true else { return .conditionFailed }
                if try transaction.isLastOperator(user, of: groups) { return .lastOperator }
            }
            return try transaction.deleteUser(id)
        }
    }
}

extension Transaction {
    /// Writes the differences, with their events.
    func change(_ before: User, to after: User) throws {
        let fields = before.changedFields(comparedWith: after)
        guard !fields.isEmpty else { return }
        try update(after)
        try record(.userUpdated, user: before.id, fields: fields)
        try audit(before.state, to: after.state, of: before.id, reason: nil)
        invalidate(.user(before.id))
        if fields.contains("groups") { try endLeftClients(after) }
        // A pending person may not sign in either.
        if after.state != .active, before.state == .active { try endSessions(of: before.id, cause: .userDisabled) }
    }

    func deleteUser(_ id: UserID) throws -> UserDeletion {
        var revocations = 0
        try endSessions(where: "s.user = ?", [id], cause: .accountDeleted)
        try record(.accountDeleted, user: id)
        invalidate(.user(id))
        for identity in try leavingIdentities(where: "i.user = ?", [id]) {
            revocations += try queueRevocations(identity)
            try eraseTraces(of: identity)
        }
        try forgetAudited(id)
        // Cascades to identities, credentials and sessions.
        try run("DELETE FROM user WHERE id = ?", [id])
        return .deleted(revocations: revocations)
    }
}
