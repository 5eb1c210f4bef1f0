package import Coding
package import Storage

extension Database {
    /// - Parameter condition: nil always holds.
    package func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult {
        try await patchUser(id, if: condition, at: now) { _ in patch }
    }

    /// A patch that depends on the user's present state: no other write comes between reading and writing.
    /// - Parameters:
    ///   - groups: `operator.groups`, of whose active people one must be left; empty for whoever is no operator.
    ///   - change: nil leaves the user as they are, and `patched` returns them. May be called twice.
    package func patchUser(
        _ id: UserID, if condition: UserCondition? = nil, keepingOneOf groups: [String] = [], at now: Timestamp,
        _ change: @escaping @Sendable (User) -> UserPatch?
    ) async throws(StoreError) -> UserPatchResult {
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
    ) async throws(StoreError) -> UserDeletion {
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
