import Coding
import Crypto
import RelyingParty
import Synchronization

/// Sessions and users in memory, with a switch that makes every call fail.
final class FakeStore: SignInStore, SessionStore, NotificationStore, SessionDirectory, Sendable {
    struct State {
        var sessions: [SessionID: Session] = [:]
        var users: [UserID: User] = [:]
        var used: [Digest256: UsedAttempt] = [:]
        var touched: [SessionID] = []
        var ended: [(SessionID, SessionEndCause)] = []
        var fails = false
        var touchFails = false
        var result: SignInResult?
        var exchanges: [Digest256: (claim: ExchangeClaim, isSpent: Bool)] = [:]
        var kept: [FreshCredential] = []
        var events: [JournalEntry] = []
        var keys: [Digest256: APIKey] = [:]
        var keyTouches = 0
        /// Refresh tokens of everybody who is deleted.
        var tokens = 0
    }

    let state = Mutex(State())
    let invalidations = SessionInvalidations()

    func add(_ user: User, _ session: Session) {
        state.withLock {
            $0.users[user.id] = user
            $0.sessions[session.id] = session
        }
    }

    func check() throws(StoreError) {
        if state.withLock({ $0.fails }) { throw .unavailable("disk full") }
    }

    func saveFirstConsent(
        team: TeamID, subject: AppleSubject, name: PersonName, at now: Timestamp
    ) async throws(StoreError) {
        try check()
    }

    func beginExchange(
        _ claim: ExchangeClaim, consent: FirstConsent?
    ) async throws(StoreError) -> ExchangeClaimResult {
        try check()
        return state.withLock { state in
            if let held = state.exchanges[claim.attempt] {
                return .taken(request: held.claim.request, begunAt: held.claim.begunAt, isSpent: held.isSpent)
            }
            state.exchanges[claim.attempt] = (claim, false)
            return .begun
        }
    }

    func settleExchange(_ attempt: Digest256, isSpent: Bool) async throws(StoreError) {
        state.withLock { state in
            if isSpent { state.exchanges[attempt]?.isSpent = true } else { state.exchanges[attempt] = nil }
        }
    }

    func keepCredential(_ credential: FreshCredential) async throws(StoreError) {
        try check()
        state.withLock { $0.kept.append(credential) }
    }

    func completeSignIn(_ record: SignInRecord) async throws(StoreError) -> SignInResult {
        try check()
        return state.withLock { state in
            if let result = state.result { return result }
            if let used = state.used[record.attempt] { return .alreadyUsed(used) }
            let user = User(
                id: record.newUser, state: .active, email: record.claims.email, appleSubject: record.claims.subject,
                createdAt: record.now)
            let session = Session(
                id: record.session.id, tokenHash: record.session.tokenHash, kind: record.session.kind, user: user.id,
                clientID: record.claims.clientID, device: record.session.device, issuedAt: record.claims.issuedAt,
                createdAt: record.now, lastSeenAt: record.now, expiresAt: record.session.expiresAt)
            state.users[user.id] = user
            state.sessions[session.id] = session
            if let replacing = record.replacing { state.sessions[replacing] = nil }
            state.used[record.attempt] = UsedAttempt(
                bindingHash: record.bindingHash, session: session.id, sessionIsLive: true)
            return .signedIn(user: user, session: session, isNewUser: true)
        }
    }

    func usedAttempt(_ id: Digest256, at now: Timestamp) async throws(StoreError) -> UsedAttempt? {
        try check()
        return state.withLock { $0.used[id] }
    }

    func signedIn(token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        try look(token, now)
    }

    func look(_ token: Digest256, _ now: Timestamp) throws(StoreError) -> SignedIn? {
        try check()
        return state.withLock { state in
            guard let session = state.sessions.values.first(where: { $0.tokenHash == token }),
                now < session.expiresAt, let user = state.users[session.user]
            else { return nil }
            return SignedIn(session: session, user: user)
        }
    }

    func sessions(of user: UserID, at now: Timestamp) async throws(StoreError) -> [Session] {
        try check()
        return state.withLock { $0.sessions.values.filter { $0.user == user }.sorted { $0.createdAt > $1.createdAt } }
    }

    func endSession(_ id: SessionID, cause: SessionEndCause, at now: Timestamp) async throws(StoreError) -> Bool {
        try check()
        let removed = state.withLock { state in
            state.ended.append((id, cause))
            return state.sessions.removeValue(forKey: id)
        }
        if let removed { invalidations.append([.token(removed.tokenHash)]) }
        return removed != nil
    }

    func touch(_ id: SessionID, at now: Timestamp) async throws(StoreError) {
        let fails = state.withLock { state in
            if !state.touchFails { state.touched.append(id) }
            return state.touchFails
        }
        if fails { throw .unavailable("disk full") }
    }

    func apply(_ notification: AppleNotification, team: TeamID, at now: Timestamp) async throws(StoreError)
        -> NotificationOutcome
    {
        try check()
        return .applied
    }

    func makeReader() throws(StoreError) -> any SessionReader { Reader(store: self) }

    private final class Reader: SessionReader {
        let store: FakeStore
        init(store: FakeStore) { self.store = store }
        func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
            try store.look(token, now)
        }
    }
}

/// A clock that stands still until it is moved.
final class FakeClock: WallClock, Sendable {
    private let moment = Mutex(Timestamp(seconds: 1_790_000_000))
    func now() -> Timestamp { moment.withLock { $0 } }
    func advance(seconds: Int64) { moment.withLock { $0 = $0.adding(seconds: seconds) } }
}

/// Different bytes at every call, the same in every run.
final class CountingRandom: RandomSource, Sendable {
    private let counter = Mutex<UInt64>(0)
    func bytes(_ count: Int) -> [UInt8] {
        let value = counter.withLock { counter in
            counter += 1
            return counter
        }
        return (0..<count).map { UInt8(truncatingIfNeeded: (value &* 31) &+ UInt64($0) &* 7 &+ (value >> 8)) }
    }
}
