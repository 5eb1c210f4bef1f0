package import Coding
import Crypto
package import RelyingParty
import Synchronization

extension Database: UserDirectory {
    package func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult {
        try await patchUser(id, if: condition, at: now) { _ in patch }
    }

    /// A patch that depends on what the user is: no other write comes between the look and the change.
    /// - Parameter change: nil leaves the user as they are, and `patched` has them so. May be asked twice.
    package func patchUser(
        _ id: UserID, if condition: UserCondition? = nil, at now: Timestamp,
        _ change: @escaping @Sendable (User) -> UserPatch?
    ) async throws(StoreError) -> UserPatchResult {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            guard let before = try connection.user(id) else { return .unknown }
            guard condition?(before) ?? true else { return .conditionFailed }
            guard let patch = change(before) else { return .patched(before) }
            var after = before
            if let externalID = patch.externalID {
                if let externalID, let owner = try connection.owner(ofExternalID: externalID), owner != id {
                    return .externalIDTaken(by: owner)
                }
                after.externalID = externalID
            }
            if let groups = patch.groups { after.groups = groups }
            if let state = patch.state { after.state = state }
            let fields = before.changedFields(comparedWith: after)
            guard !fields.isEmpty else { return .patched(before) }
            try connection.write(after, at: now)
            try connection.record(.userUpdated, user: id, fields: fields, at: now, identifiers: identifiers)
            try connection.audit(before.state, to: after.state, of: id, reason: nil, at: now)
            effects.invalidations.append(.user(id))
            if after.state == .disabled, before.state != .disabled {
                try connection.endSessions(
                    where: "s.user = ?", [id.rawValue], cause: .userDisabled, at: now, identifiers: identifiers,
                    effects: &effects)
            }
            return .patched(after)
        }
    }

    package func endSessions(
        of user: UserID, except kept: SessionID?, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            try connection.endSessions(
                where: "s.user = ? AND s.id IS NOT ?", [user.rawValue, kept?.rawValue], cause: cause, at: now,
                identifiers: identifiers, effects: &effects)
        }
    }

    package func endSession(
        _ id: SessionID, of user: UserID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            try connection.endSessions(
                where: "s.id = ? AND s.user = ?", [id.rawValue, user.rawValue], cause: cause, at: now,
                identifiers: identifiers, effects: &effects) > 0
        }
    }

    package func deleteUser(
        _ id: UserID, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserDeletion {
        let identifiers = identifiers
        let subjectHashes = subjectHashes
        return try await commits.write { connection, effects in
            guard try connection.integer("SELECT 1 FROM user WHERE id = ?", [id.rawValue]) != nil else {
                return .unknown
            }
            if let condition, try connection.user(id).map(condition) != true { return .conditionFailed }
            var revocations = 0
            try connection.endSessions(
                where: "s.user = ?", [id.rawValue], cause: .accountDeleted, at: now, identifiers: identifiers,
                effects: &effects)
            try connection.record(.accountDeleted, user: id, at: now, identifiers: identifiers)
            effects.invalidations.append(.user(id))
            for identity in try connection.leavingIdentities(where: "i.user = ?", [id.rawValue]) {
                revocations += try connection.queueRevocations(identity, hashes: subjectHashes, at: now)
                try connection.eraseTraces(of: identity, hashes: subjectHashes)
            }
            // Identities, credentials and sessions go with it.
            try connection.run("DELETE FROM user WHERE id = ?", [id.rawValue])
            return .deleted(revocations: revocations)
        }
    }
}

extension SQLiteConnection {
    func owner(ofExternalID externalID: String) throws -> UserID? {
        try firstRow("SELECT id FROM user WHERE external_id = ?", [externalID]).map {
            UserID(unchecked: try $0.text(0))
        }
    }

    /// The name of an unfinished sign-in.
    /// - Parameter end: keeps a name that came later: it belongs to a consent after that moment, and Apple will not say
    ///   it again.
    func forgetFirstConsent(of subject: AppleSubject, team: TeamID, before end: Timestamp? = nil) throws {
        try run(
            "DELETE FROM first_consent WHERE team = ?1 AND subject = ?2 AND (?3 IS NULL OR saved_at < ?3)",
            [team.rawValue, subject.rawValue, end?.milliseconds])
    }

    /// What is kept of a person outside of their own rows: the name of an unfinished sign-in, and notifications. That Apple
    /// ended their consent stays, by a hash.
    /// - Parameter end: when Apple says the person ended it; nil for a deletion here, which ends all there is.
    func eraseTraces(of identity: LeavingIdentity, hashes: SubjectHashes, before end: Timestamp? = nil) throws {
        let (subject, team) = (identity.subject, identity.team)
        try keepEnd(of: identity, hashes: hashes)
        try forgetFirstConsent(of: subject, team: team, before: end)
        try forgetLinks(of: subject, team: team, before: end)
        try run("UPDATE notification SET payload = NULL, subject = NULL WHERE subject = ?", [subject.rawValue])
    }
}
