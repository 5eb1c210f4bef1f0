package import Coding
package import Crypto
package import RelyingParty
package import Synchronization

/// The stores in memory: what the ports mean, in the shortest form that is right. For tests and nothing else; the
/// contract suite holds it and the database to the same behaviour.
package final class MemoryStore: Sendable {
    package struct Person: Sendable {
        package var user: User
        var team: TeamID
        /// The latest `iat` of this person's sign-ins.
        var lastSignIn: Timestamp
        var told: LastTold
    }

    package struct IdentityKey: Hashable, Sendable {
        var team: TeamID
        var subject: AppleSubject
    }

    struct Credential {
        var sealed: [UInt8]
        var issuedAt: Timestamp
    }

    /// What is stored. Tests may put it as they need it: that writes no event and invalidates nothing.
    package struct State: Sendable {
        package var people: [IdentityKey: Person] = [:]
        package var sessions: [Digest256: Session] = [:]
        var usedAttempts: [Digest256: (bindingHash: Digest256, session: SessionID?, refusal: SignInRefusal?)] = [:]
        var firstConsents: [IdentityKey: PersonName] = [:]
        var credentials: [IdentityKey: [ClientID: Credential]] = [:]
        package var exchanges: [Digest256: (claim: ExchangeClaim, isSpent: Bool)] = [:]
        var notifications: Set<String> = []
        /// What each person was told of, in the order it came.
        var told: [AppleSubject: [AccountRecord.Notification]] = [:]
        /// The latest end of consent Apple has told of, known person or not.
        var revocations: [AppleSubject: (eventTime: Timestamp, receivedAt: Timestamp)] = [:]
        package var journal: [JournalEntry] = []
        package var keys: [Digest256: APIKey] = [:]
        /// The credentials that came outside a sign-in, deleted people's too.
        package var kept: [FreshCredential] = []
        /// How often the use of a session and of a key was written, or should have been.
        package var sessionTouches = 0
        package var keyTouches = 0
        /// The next failures to answer with, oldest first.
        var failures: [StoreError] = []
        var failure: StoreError?
        var touchFailure: StoreError?
        var writeRefusal: StoreError?
    }

    package let invalidations = SessionInvalidations()
    let limits: SessionLimits
    let onAccountDeleted: AccountDeletionPolicy
    let identifiers: RandomIdentifier
    package let state = Mutex(State())

    package init(
        limits: SessionLimits, onAccountDeleted: AccountDeletionPolicy = .erase,
        random: any RandomSource = SystemRandom()
    ) {
        self.limits = limits
        self.onAccountDeleted = onAccountDeleted
        self.identifiers = RandomIdentifier(random: random)
    }

    /// The next write fails so, writing nothing.
    package func failNextWrite(with error: StoreError) {
        state.withLock { $0.failures.append(error) }
    }

    /// From now on every call fails so.
    package func fail(with error: StoreError = .unavailable("disk full")) {
        state.withLock { $0.failure = error }
    }

    /// Says from now on that no write can succeed; nil: that one can.
    package func refuseWrites(with error: StoreError?) {
        state.withLock { $0.writeRefusal = error }
    }

    /// From now on the use of sessions and keys cannot be written.
    package func failTouches(with error: StoreError = .unavailable("disk full")) {
        state.withLock { $0.touchFailure = error }
    }

    func read<Value>(_ body: (State) -> Value) throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            return .success(body(state))
        }
        return try result.get()
    }

    /// One write: all of it or nothing, its invalidations before its answer.
    func write<Value>(
        _ body: (inout State, inout [SessionInvalidations.Entry]) -> Value
    ) throws(StoreError) -> Value {
        let result: Result<(Value, [SessionInvalidations.Entry]), StoreError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            if !state.failures.isEmpty { return .failure(state.failures.removeFirst()) }
            var effects: [SessionInvalidations.Entry] = []
            let value = body(&state, &effects)
            return .success((value, effects))
        }
        let (value, effects) = try result.get()
        invalidations.append(effects)
        return value
    }

    /// A write of when something was last used: `body` says so once it is counted, and may fail alone.
    func touch(
        counting count: WritableKeyPath<State, Int>, _ body: (inout State) -> Void
    ) throws(StoreError) {
        let failure: StoreError? = try write { state, _ in
            state[keyPath: count] += 1
            if state.touchFailure == nil { body(&state) }
            return state.touchFailure
        }
        if let failure { throw failure }
    }

    func isLive(_ session: Session, at now: Timestamp) -> Bool {
        now < limits.end(of: session)
    }

    func record(
        _ kind: JournalEntry.Kind, user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], at now: Timestamp, in state: inout State
    ) {
        state.journal.append(
            JournalEntry(
                id: identifiers.make(), kind: kind, time: now, user: user,
                externalID: state.people.values.first { $0.user.id == user }?.user.externalID, session: session,
                cause: cause, fields: fields))
    }

    func endSessions(
        where condition: (Session) -> Bool, cause: SessionEndCause, at now: Timestamp, in state: inout State,
        effects: inout [SessionInvalidations.Entry]
    ) -> Int {
        let ended = state.sessions.values.filter(condition).sorted { $0.id.rawValue < $1.id.rawValue }
        for session in ended {
            state.sessions[session.tokenHash] = nil
            record(.sessionEnded, user: session.user, session: session.id, cause: cause, at: now, in: &state)
            effects.append(.token(session.tokenHash))
        }
        return ended.count
    }
}

extension MemoryStore: SessionStore, SessionDirectory {
    private func signedIn(_ token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
        try read { state in
            guard let session = state.sessions[token], isLive(session, at: now),
                let person = state.people.values.first(where: { $0.user.id == session.user })
            else { return nil }
            return SignedIn(session: session, user: person.user)
        }
    }

    package func signedIn(token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        try signedIn(token, at: now)
    }

    package func sessions(
        of user: UserID?, by order: SessionOrder, after cursor: SessionCursor?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> SessionPage {
        func place(_ session: Session) -> (Timestamp, String) { (order.time(of: session), session.id.rawValue) }
        return try read { state in
            let live = state.sessions.values.filter { (user ?? $0.user) == $0.user && isLive($0, at: now) }
                .filter { session in cursor.map { place(session) < ($0.time, $0.id.rawValue) } ?? true }
                .sorted { place($0) > place($1) }
            let items = Array(live.prefix(limit))
            return SessionPage(
                items: items, next: live.count > limit ? items.last.map { SessionCursor($0, by: order) } : nil)
        }
    }

    package func endSession(
        _ id: SessionID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        try write { state, effects in
            endSessions(where: { $0.id == id }, cause: cause, at: now, in: &state, effects: &effects) > 0
        }
    }

    package func touch(_ id: SessionID, at now: Timestamp) async throws(StoreError) {
        try touch(counting: \.sessionTouches) { state in
            for (token, session) in state.sessions where session.id == id && session.lastSeenAt < now {
                state.sessions[token]?.lastSeenAt = now
            }
        }
    }

    private final class Reader: SessionReader {
        let store: MemoryStore
        init(store: MemoryStore) { self.store = store }
        func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
            try store.signedIn(token, at: now)
        }
    }

    package func makeReader() throws(StoreError) -> any SessionReader { Reader(store: self) }
}

extension MemoryStore: EventJournal {
    package func events(after id: EventID?, limit: Int) async throws(StoreError) -> [JournalEntry] {
        try read { state in
            let start = id.flatMap { id in state.journal.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
            return Array(state.journal[start...].prefix(limit))
        }
    }

    package func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(StoreError) -> EventPage? {
        try read { state in
            let start: Int
            switch place {
            case nil: start = 0
            case .event(let id):
                guard let index = state.journal.firstIndex(where: { $0.id == id }) else { return nil }
                start = index + 1
            case .sequence(let sequence):
                guard sequence >= 0, sequence <= state.journal.count else { return nil }
                start = Int(sequence)
            }
            let rest = state.journal.enumerated().dropFirst(start).filter { filter.accepts($0.element) }
            let items = rest.prefix(limit)
            let next = rest.count > limit ? items.last.map { EventPlace.sequence(Int64($0.offset + 1)) } : nil
            return EventPage(items: items.map(\.element), next: next)
        }
    }

    func set(
        _ new: User.State, of key: IdentityKey, cause: SessionEndCause, at now: Timestamp, in state: inout State,
        effects: inout [SessionInvalidations.Entry]
    ) {
        guard let user = state.people[key]?.user, user.state != new else { return }
        state.people[key]?.user.state = new
        record(.userUpdated, user: user.id, fields: ["state"], at: now, in: &state)
        effects.append(.user(user.id))
        if new == .disabled {
            _ = endSessions(where: { $0.user == user.id }, cause: cause, at: now, in: &state, effects: &effects)
        }
    }
}
