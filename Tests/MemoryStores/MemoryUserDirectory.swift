package import Coding
package import RelyingParty
import Synchronization

extension MemoryStore: UserDirectory {
    package func user(_ id: UserID) async throws(StoreError) -> User? {
        try find { $0.user.id == id }
    }

    package func user(externalID: String) async throws(StoreError) -> User? {
        try find { $0.user.externalID.map { $0.utf8.elementsEqual(externalID.utf8) } ?? false }
    }

    package func user(team: TeamID, subject: AppleSubject) async throws(StoreError) -> User? {
        try read { $0.people[IdentityKey(team: team, subject: subject)]?.user }
    }

    private func find(_ condition: (Person) -> Bool) throws(StoreError) -> User? {
        try read { state in state.people.values.first(where: condition)?.user }
    }

    package func users(
        _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        let all = try read { state in state.people.values.map(\.user) }
            .filter(filter.accepts)
            .sorted { ($0.createdAt, $0.id.rawValue) < ($1.createdAt, $1.id.rawValue) }
            .filter { user in
                cursor.map { ($0.createdAt, $0.id.rawValue) < (user.createdAt, user.id.rawValue) } ?? true
            }
        let items = Array(all.prefix(limit))
        let last = all.count > limit ? items.last : nil
        return UserPage(items: items, next: last.map { UserCursor(createdAt: $0.createdAt, id: $0.id) })
    }

    package func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult {
        try write { state, effects in
            guard let key = state.people.first(where: { $0.value.user.id == id })?.key,
                let before = state.people[key]?.user
            else { return .unknown }
            guard condition?(before) ?? true else { return .conditionFailed }
            guard !before.isProtected(from: patch) else { return .groupProtected }
            var after = before
            if let externalID = patch.externalID {
                let owner = state.people.values.first { $0.user.externalID == externalID && $0.user.id != id }
                if externalID != nil, let owner { return .externalIDTaken(by: owner.user.id) }
                after.externalID = externalID
            }
            if let groups = patch.groups { after.groups = groups }
            if let new = patch.state { after.state = new }
            let fields = before.changedFields(comparedWith: after)
            guard !fields.isEmpty else { return .patched(before) }
            state.people[key]?.user = after
            record(.userUpdated, user: id, fields: fields, at: now, in: &state)
            effects.append(.user(id))
            if after.state != .active, before.state == .active {
                _ = endSessions(
                    where: { $0.user == id }, cause: .userDisabled, at: now, in: &state, effects: &effects)
            }
            return .patched(after)
        }
    }

    package func endSessions(
        of user: UserID, except kept: SessionID?, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try write { state, effects in
            endSessions(
                where: { $0.user == user && $0.id != kept }, cause: cause, at: now, in: &state, effects: &effects)
        }
    }

    package func endSession(
        _ id: SessionID, of user: UserID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        try write { state, effects in
            endSessions(
                where: { $0.id == id && $0.user == user }, cause: cause, at: now, in: &state, effects: &effects) > 0
        }
    }

    package func deleteUser(
        _ id: UserID, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserDeletion {
        try write { state, effects in
            let keys = state.people.filter { $0.value.user.id == id }.map(\.key)
            guard let first = keys.first, let user = state.people[first]?.user else { return .unknown }
            guard condition?(user) ?? true else { return .conditionFailed }
            let tokens = keys.reduce(0) { $0 + (state.credentials[$1]?.count ?? 0) }
            _ = endSessions(
                where: { $0.user == id }, cause: .accountDeleted, at: now, in: &state, effects: &effects)
            record(.accountDeleted, user: id, at: now, in: &state)
            effects.append(.user(id))
            for key in keys {
                state.people[key] = nil
                state.firstConsents[key] = nil
                state.credentials[key] = nil
                state.told[key.subject] = nil
            }
            return .deleted(revocations: tokens)
        }
    }
}
