import Coding
import Crypto
import RelyingParty
import Synchronization

/// The fake store as the API and the account page change people through it.
extension FakeStore: UserDirectory {
    func user(_ id: UserID) async throws(StoreError) -> User? {
        try check()
        return state.withLock { $0.users[id] }
    }

    func user(externalID: String) async throws(StoreError) -> User? {
        try check()
        return state.withLock { $0.users.values.first { $0.externalID == externalID } }
    }

    func user(team: TeamID, subject: AppleSubject) async throws(StoreError) -> User? {
        try check()
        return state.withLock { $0.users.values.first { $0.appleSubject == subject } }
    }

    func users(_ filter: UserFilter, after cursor: UserCursor?, limit: Int) async throws(StoreError) -> UserPage {
        try check()
        let all = state.withLock { Array($0.users.values) }
            .filter(filter.accepts)
            .sorted { ($0.createdAt, $0.id.rawValue) < ($1.createdAt, $1.id.rawValue) }
            .filter { user in
                cursor.map { ($0.createdAt, $0.id.rawValue) < (user.createdAt, user.id.rawValue) } ?? true
            }
        let items = Array(all.prefix(limit))
        let last = all.count > limit ? items.last : nil
        return UserPage(items: items, next: last.map { UserCursor(createdAt: $0.createdAt, id: $0.id) })
    }

    func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult {
        try check()
        let result: UserPatchResult = state.withLock { state in
            guard var user = state.users[id] else { return .unknown }
            guard condition?(user) ?? true else { return .conditionFailed }
            if let externalID = patch.externalID {
                if let externalID,
                    let owner = state.users.values.first(where: { $0.externalID == externalID && $0.id != id })
                {
                    return .externalIDTaken(by: owner.id)
                }
                user.externalID = externalID
            }
            if let groups = patch.groups { user.groups = groups }
            if let new = patch.state { user.state = new }
            state.users[id] = user
            if user.state == .disabled { state.sessions = state.sessions.filter { $0.value.user != id } }
            return .patched(user)
        }
        invalidations.append([.user(id)])
        return result
    }

    func endSessions(
        of user: UserID, except kept: SessionID?, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try check()
        let ended = state.withLock { state in
            let ended = state.sessions.values.filter { $0.user == user && $0.id != kept }
            for session in ended {
                state.sessions[session.id] = nil
                state.ended.append((session.id, cause))
            }
            return ended
        }
        invalidations.append(ended.map { .token($0.tokenHash) })
        return ended.count
    }

    func endSession(
        _ id: SessionID, of user: UserID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard state.withLock({ $0.sessions[id]?.user == user }) else { return false }
        return try await endSession(id, cause: cause, at: now)
    }

    func deleteUser(
        _ id: UserID, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserDeletion {
        if let condition, let user = try await user(id), !condition(user) { return .conditionFailed }
        _ = try await endSessions(of: id, except: nil, cause: .accountDeleted, at: now)
        return state.withLock { state in
            state.users.removeValue(forKey: id) == nil ? .unknown : .deleted(revocations: state.tokens)
        }
    }
}

extension FakeStore {
    func accountRecord(of id: UserID, at now: Timestamp) async throws(StoreError) -> AccountRecord? {
        try check()
        let sessions = try await sessions(of: id, at: now)
        return state.withLock { state in
            guard let user = state.users[id] else { return nil }
            let identity = AccountRecord.Identity(
                team: TeamID("TEAM123456"), subject: user.appleSubject, credential: user.credential,
                lastSignInAt: user.createdAt, createdAt: user.createdAt,
                credentials: (0..<state.tokens).map { number in
                    AccountRecord.Credential(
                        clientID: ClientID("com.example.\(number)"), state: "authorized", cause: nil,
                        issuedAt: user.createdAt, holdsToken: true)
                })
            return AccountRecord(
                user: user, identities: [identity], sessions: sessions, notifications: [],
                events: state.events.filter { $0.user == id })
        }
    }

    func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]? {
        try await accountRecord(of: user, at: Timestamp(milliseconds: 0))?.identities
    }
}

extension FakeStore: EventJournal {
    func events(after id: EventID?, limit: Int) async throws(StoreError) -> [JournalEntry] {
        try check()
        return state.withLock { state in
            let start = id.flatMap { id in state.events.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
            return Array(state.events[start...].prefix(limit))
        }
    }

    func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(StoreError) -> EventPage? {
        try check()
        return state.withLock { state in
            let start: Int
            switch place {
            case nil: start = 0
            case .event(let id):
                guard let index = state.events.firstIndex(where: { $0.id == id }) else { return nil }
                start = index + 1
            case .sequence(let sequence):
                guard sequence >= 0, sequence <= state.events.count else { return nil }
                start = Int(sequence)
            }
            let rest = state.events.enumerated().dropFirst(start).filter { filter.accepts($0.element) }
            let items = rest.prefix(limit)
            let next = rest.count > limit ? items.last.map { EventPlace.sequence(Int64($0.offset + 1)) } : nil
            return EventPage(items: items.map(\.element), next: next)
        }
    }
}

extension FakeStore: APIKeyStore {
    func createAPIKey(_ key: APIKey, hash: Digest256) async throws(StoreError) {
        try check()
        state.withLock { $0.keys[hash] = key }
    }

    func apiKeys() async throws(StoreError) -> [APIKey] {
        try check()
        return state.withLock { $0.keys.values.sorted { $0.createdAt < $1.createdAt } }
    }

    func apiKey(hash: Digest256) async throws(StoreError) -> APIKey? {
        try check()
        return state.withLock { $0.keys[hash] }.flatMap { $0.revokedAt == nil ? $0 : nil }
    }

    func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) -> Bool {
        try check()
        return state.withLock { state in
            guard let hash = state.keys.first(where: { $0.value.id == id && $0.value.revokedAt == nil })?.key else {
                return false
            }
            state.keys[hash]?.revokedAt = now
            return true
        }
    }

    func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) {
        try check()
        let fails = state.withLock { state in
            state.keyTouches += 1
            return state.touchFails
        }
        if fails { throw .unavailable("disk full") }
        state.withLock { state in
            for (hash, key) in state.keys where key.id == id { state.keys[hash]?.lastUsedAt = now }
        }
    }
}
