package import Coding
package import Crypto
package import RelyingParty
import Synchronization

/// What tests put into the store by hand, and read there.
extension MemoryStore {
    /// Whoever had the user's Apple identity before is gone.
    package func add(_ user: User, _ session: Session) {
        state.withLock { state in
            let key = IdentityKey(team: State.team, subject: user.appleSubject)
            state.people = state.people.filter { $0.value.user.id != user.id }
            state.people[key] = Person(user: user, team: key.team, lastSignIn: user.createdAt, told: LastTold())
            state.sessions[session.tokenHash] = session
        }
    }

    /// Gives everybody so many refresh tokens, each of another client.
    package func giveTokens(_ count: Int) {
        state.withLock { state in
            for (key, person) in state.people {
                state.credentials[key] = Dictionary(
                    uniqueKeysWithValues: (0..<count).map {
                        (ClientID("com.example.\($0)"), Credential(sealed: [], issuedAt: person.user.createdAt))
                    })
            }
        }
    }
}

extension MemoryStore.State {
    fileprivate static let team = TeamID("TEAM123456")

    package var users: [UserID: User] {
        get { Dictionary(uniqueKeysWithValues: people.values.map { ($0.user.id, $0.user) }) }
        set {
            people = people.filter { newValue[$0.value.user.id] != nil }
            for user in newValue.values {
                let key =
                    people.first { $0.value.user.id == user.id }?.key
                    ?? MemoryStore.IdentityKey(team: Self.team, subject: user.appleSubject)
                let new = MemoryStore.Person(
                    user: user, team: key.team, lastSignIn: user.createdAt, told: LastTold())
                people[key, default: new].user = user
            }
        }
    }

    /// The sessions that were ended, and why, in the order of their events.
    package var ended: [(session: SessionID, cause: SessionEndCause)] {
        journal.compactMap { entry in
            guard entry.kind == .sessionEnded, let session = entry.session, let cause = entry.cause else { return nil }
            return (session, cause)
        }
    }
}

extension MemoryStore: APIKeyStore {
    package func createAPIKey(_ key: APIKey, hash: Digest256) async throws(StoreError) {
        try write { state, _ in state.keys[hash] = key }
    }

    package func apiKeys() async throws(StoreError) -> [APIKey] {
        try read { $0.keys.values.sorted { $0.createdAt < $1.createdAt } }
    }

    package func apiKey(hash: Digest256) async throws(StoreError) -> APIKey? {
        try read { $0.keys[hash] }.flatMap { $0.revokedAt == nil ? $0 : nil }
    }

    package func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) -> Bool {
        try write { state, _ in
            guard let hash = state.keys.first(where: { $0.value.id == id && $0.value.revokedAt == nil })?.key else {
                return false
            }
            state.keys[hash]?.revokedAt = now
            return true
        }
    }

    package func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) {
        try touch(counting: \.keyTouches) { state in
            for (hash, key) in state.keys where key.id == id { state.keys[hash]?.lastUsedAt = now }
        }
    }
}
