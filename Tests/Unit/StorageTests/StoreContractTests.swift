import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

enum StoreKind: String, CaseIterable, Sendable {
    case sqlite, postgres

    /// Those of this machine.
    static let allCases: [StoreKind] = PostgresCluster.shared == nil ? [.sqlite] : [.sqlite, .postgres]
}

extension Bench {
    init(_ kind: StoreKind) throws { try self.init(isPostgres: kind == .postgres) }
}

/// What the domain may rely on, on either engine.
@Suite struct StoreContractTests {
    /// A store and what it lives in.
    struct Subject: Sendable {
        let store: Accounts.Database
        let clock: ManualClock
        let bench: Bench
        var now: Timestamp { clock.now() }

        init(_ kind: StoreKind, onAccountDeleted: AccountDeletionPolicy = .erase) throws {
            bench = try Bench(kind)
            clock = bench.clock
            store = try bench.open(bench.options(onAccountDeleted: onAccountDeleted))
        }

        func signIn(
            _ subject: String = "ann", issuedAt: Timestamp? = nil, replacing: SessionID? = nil,
            browser: String? = nil, window: BrowserBinding? = nil, begun: Timestamp? = nil
        ) async throws -> Session {
            let result = try await store.completeSignIn(
                record(
                    subject, issuedAt: issuedAt, replacing: replacing, attemptIssuedAt: begun,
                    binding: browser.map { SHA256.hash(utf8: $0) }, window: window, at: now))
            return try #require(result.session)
        }

        func journal() async throws -> [JournalEntry] { try await store.events(after: nil, limit: 1_000) }
        func isLive(_ session: Session) async throws -> Bool {
            try await store.signedIn(token: session.tokenHash, at: now) != nil
        }
    }

    @Test("the first sign-in creates the user and the session, and both are found", arguments: StoreKind.allCases)
    func createsUser(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let record = record(at: subject.now)
        let result = try await subject.store.completeSignIn(record)
        guard case .signedIn(let user, let session, true) = result else { throw Unexpected("\(result)") }
        #expect(user.id == record.newUser)
        #expect(session.id == record.session)
        #expect(user.email == record.claims.email)
        let found = try await subject.store.signedIn(token: record.tokenHash, at: subject.now)
        #expect(found == SignedIn(session: session, user: user))
        #expect(try subject.store.makeReader().signedIn(token: session.tokenHash, at: subject.now) == found)
        #expect(try await subject.store.user(user.id) == user)
        let events = try await subject.journal()
        #expect(events.map(\.kind) == [.userCreated, .sessionCreated])
        #expect(events.map(\.user) == [user.id, user.id])
        #expect(events.map(\.session) == [nil, session.id])
    }

    @Test("the person's key is team and subject: the same again is the same user", arguments: StoreKind.allCases)
    func findsUserBySubject(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = try await subject.signIn("ann")
        let second = try await subject.signIn("ann")
        #expect(first.user == second.user)
        #expect(try await subject.store.sessions(of: first.user, at: subject.now).count == 2)
        // The same address is another person; another team is another person.
        var other = record("bob", email: "ann@example.com", at: subject.now)
        #expect(try await subject.store.completeSignIn(other).user?.id != first.user)
        other = record("ann", at: subject.now)
        other.team = TeamID("OTHERTEAM1")
        #expect(try await subject.store.completeSignIn(other).user?.id != first.user)
    }

    @Test(
        "a sign-in updates what changed and says which fields, and nothing when nothing did",
        arguments: StoreKind.allCases)
    func updatesUser(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = try await subject.signIn()
        _ = try await subject.signIn()
        _ = try await subject.store.completeSignIn(record(email: "new@example.com", at: subject.now))
        let user = try await subject.store.user(first.user)
        #expect(user?.email?.address == "new@example.com")
        let updates = try await subject.journal().filter { $0.kind == .userUpdated }
        #expect(updates.map(\.fields) == [["email"]])
    }

    @Test(
        "an organization counts as a group until a newer token names another or none",
        arguments: StoreKind.allCases)
    func keepsOrganization(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        var new = record(at: subject.now)
        new.claims.organizationID = "school"
        let session = try #require(try await subject.store.completeSignIn(new).session)
        let person = try #require(try await subject.store.user(session.user))
        #expect(person.organizationID == "school" && person.groups == [] && person.memberships == ["org:school"])
        func members(_ group: String) async throws -> Int {
            try await subject.store.users(UserFilter(group: group), after: nil, limit: 10).items.count
        }
        #expect(try await members("org:school") == 1)
        // The next token names another.
        new = record(at: subject.now)
        new.claims.organizationID = "college"
        _ = try await subject.store.completeSignIn(new)
        #expect(try await members("org:school") == 0)
        #expect(try await members("org:college") == 1)
        #expect(try await subject.journal().last { $0.kind == .userUpdated }?.fields == ["organizationID"])
        // An older token changes nothing, with an organization or without.
        for organization in ["school", nil] {
            var old = record(issuedAt: subject.now.adding(seconds: -60), at: subject.now)
            old.claims.organizationID = organization
            _ = try await subject.store.completeSignIn(old)
            #expect(try await members("org:college") == 1)
        }
        _ = try await subject.store.completeSignIn(record(at: subject.now))
        #expect(try await members("org:college") == 0)
        #expect(try await subject.store.user(session.user)?.organizationID == nil)
    }

    @Test("an attempt is used once: its replay changes nothing and returns its session", arguments: StoreKind.allCases)
    func usesAttemptOnce(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let attempt = randomDigest()
        #expect(try await subject.store.usedAttempt(attempt, at: subject.now) == nil)
        let session = try #require(
            try await subject.store.completeSignIn(
                record(attempt: attempt, binding: SHA256.hash(utf8: "binding"), at: subject.now)
            ).session)
        let before = try await subject.journal()
        let used = UsedAttempt(
            bindingHash: SHA256.hash(utf8: "binding"), session: session.id, sessionBegan: session.createdAt,
            sessionIsLive: true)
        let replay = try await subject.store.completeSignIn(record("eve", attempt: attempt, at: subject.now))
        #expect(replay == .alreadyUsed(used))
        #expect(try await subject.store.usedAttempt(attempt, at: subject.now) == used)
        #expect(try await subject.journal() == before)
        _ = try await subject.store.endSession(session.id, cause: .signOut, at: subject.now)
        #expect(try await subject.store.usedAttempt(attempt, at: subject.now)?.sessionIsLive == false)
    }

    @Test("a used attempt's session is not live past its idle end", arguments: StoreKind.allCases)
    func usedAttemptKnowsIdleEnd(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let attempt = randomDigest()
        _ = try await subject.store.completeSignIn(record(attempt: attempt, at: subject.now))
        subject.clock.advance(seconds: 3_600)
        #expect(try await subject.store.usedAttempt(attempt, at: subject.now)?.sessionIsLive == false)
    }

    @Test("the name of first consent moves to the user once, into an empty field", arguments: StoreKind.allCases)
    func movesFirstConsent(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let ann = PersonName(given: "Ann", family: "Lee")
        try await subject.store.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: "A"), at: subject.now)
        try await subject.store.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: ann, at: subject.now)
        let session = try await subject.signIn()
        #expect(try await subject.store.user(session.user)?.name == ann)
        try await subject.store.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: "Eve"), at: subject.now)
        _ = try await subject.signIn()
        #expect(try await subject.store.user(session.user)?.name == ann)
        #expect(try await subject.journal().filter { $0.kind == .userUpdated }.isEmpty)
    }

    @Test("a name given before reaches a user who was created without one", arguments: StoreKind.allCases)
    func fillsEmptyName(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        let ann = PersonName(given: "Ann", family: "Lee")
        try await subject.store.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: ann, at: subject.now)
        let again = try await subject.signIn()
        #expect(try await subject.store.signedIn(token: again.tokenHash, at: subject.now)?.user.name == ann)
        #expect(try await subject.journal().filter { $0.kind == .userUpdated }.map(\.fields) == [["name"]])
        #expect(again.user == session.user)
    }

    @Test("approval makes a pending user without a session; once approved they sign in", arguments: StoreKind.allCases)
    func waitsForApproval(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = record(policy: .approval, at: subject.now)
        #expect(try await subject.store.completeSignIn(first) == .refused(.pending, first.newUser))
        #expect(try await subject.store.usedAttempt(first.attempt.id, at: subject.now)?.session == nil)
        #expect(
            try await subject.store.completeSignIn(record(policy: .approval, at: subject.now))
                == .refused(.pending, first.newUser))
        #expect(try await subject.store.setState(.active, of: first.newUser, at: subject.now))
        let session = try #require(
            try await subject.store.completeSignIn(record(policy: .approval, at: subject.now)).session)
        #expect(session.user == first.newUser)
        #expect(
            try await subject.journal().map(\.kind) == [.userCreated, .userPending, .userUpdated, .sessionCreated])
    }

    @Test("closed admits known people and creates no user", arguments: StoreKind.allCases)
    func closesSignUp(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let known = try await subject.signIn("ann")
        let stranger = record("bob", policy: .closed, at: subject.now)
        #expect(try await subject.store.completeSignIn(stranger) == .refused(.closed, nil))
        #expect(try await subject.store.user(stranger.newUser) == nil)
        #expect(try await subject.store.usedAttempt(stranger.attempt.id, at: subject.now) != nil)
        let again = try await subject.store.completeSignIn(record("ann", policy: .closed, at: subject.now))
        #expect(again.user?.id == known.user)
    }

    @Test(
        "disabling ends every session and refuses sign-ins; enabling allows them again",
        arguments: StoreKind.allCases)
    func disables(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let sessions = [try await subject.signIn(), try await subject.signIn()]
        let user = sessions[0].user
        #expect(try await subject.store.setState(.disabled, of: user, at: subject.now))
        for session in sessions { #expect(try await !subject.isLive(session)) }
        #expect(try await subject.store.completeSignIn(record(at: subject.now)) == .refused(.disabled, user))
        #expect(try await subject.store.setState(.active, of: user, at: subject.now))
        _ = try await subject.signIn()
        let causes = try await subject.journal().compactMap(\.cause)
        #expect(causes == [.userDisabled, .userDisabled])
        #expect(try await !subject.store.setState(.active, of: UserID(unchecked: "usr_none"), at: subject.now))
    }

    @Test("the session to be replaced ends in the same write, and only that one", arguments: StoreKind.allCases)
    func replaces(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = try await subject.signIn()
        let other = try await subject.signIn()
        let third = try await subject.signIn("bob", replacing: first.id)
        #expect(try await !subject.isLive(first))
        #expect(try await subject.isLive(other))
        #expect(try await subject.isLive(third))
        let ended = try await subject.journal().filter { $0.kind == .sessionEnded }
        #expect(ended.map(\.session) == [first.id])
        #expect(ended.map(\.cause) == [.replaced])
    }

    @Test("ending a session has one event, invalidates its token, and is final", arguments: StoreKind.allCases)
    func endsSession(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        let before = subject.store.invalidations.generation
        #expect(try await subject.store.endSession(session.id, cause: .signOut, at: subject.now))
        #expect(try await !subject.store.endSession(session.id, cause: .signOut, at: subject.now))
        #expect(try await !subject.isLive(session))
        #expect(try subject.store.makeReader().signedIn(token: session.tokenHash, at: subject.now) == nil)
        #expect(subject.store.invalidations.entries(after: before).entries == [.token(session.tokenHash)])
        #expect(try await subject.journal().filter { $0.kind == .sessionEnded }.map(\.cause) == [.signOut])
    }

    @Test(
        "a session ends by idleness and absolutely, to the millisecond; a touch prolongs the first",
        arguments: StoreKind.allCases)
    func expires(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        let reader = try subject.store.makeReader()
        subject.clock.advance(milliseconds: 3_599_999)
        #expect(try await subject.isLive(session))
        try await subject.store.touch(session.id, at: subject.now)
        subject.clock.advance(milliseconds: 3_599_999)
        #expect(try await subject.isLive(session))
        if let found = try reader.signedIn(token: session.tokenHash, at: subject.now) {
            #expect(found.session.lastSeenAt == session.createdAt.adding(milliseconds: 3_599_999))
        } else {
            // A loop's reader there only has what a route has read, and not when a touch is due.
            #expect(kind == .postgres)
        }
        subject.clock.advance(milliseconds: 1)
        #expect(try await !subject.isLive(session))
        #expect(try reader.signedIn(token: session.tokenHash, at: subject.now) == nil)
        #expect(try await subject.store.sessions(of: session.user, at: subject.now).isEmpty)
        for _ in 0..<30 {
            try await subject.store.touch(session.id, at: subject.now)
            subject.clock.advance(seconds: 3_000)
        }
        #expect(subject.now >= session.expiresAt)
        #expect(try await !subject.isLive(session))
    }

    @Test("a touch never moves last seen backwards", arguments: StoreKind.allCases)
    func touchesForward(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        try await subject.store.touch(session.id, at: subject.now.adding(seconds: -100))
        let found = try await subject.store.signedIn(token: session.tokenHash, at: subject.now)
        #expect(found?.session.lastSeenAt == session.createdAt)
    }

    @Test(
        "a sign-in overtaken by the end of consent creates nothing; a later one counts as the first",
        arguments: StoreKind.allCases, [AppleNotification.Kind.consentRevoked, .accountDeleted])
    func refusesOvertakenSignIn(kind: StoreKind, end: AppleNotification.Kind) async throws {
        let subject = try Subject(kind)
        let time = subject.now
        // As during a slow exchange: the person may be known by an earlier sign-in, or not at all.
        let earlier = try await subject.signIn("ann", issuedAt: time.adding(seconds: -60))
        for name in ["ann", "stranger"] {
            _ = try await subject.store.apply(
                notification(end, subject: name, time: time), team: Bench.team, at: subject.now)
            let tie = record(name, issuedAt: time, at: subject.now)
            #expect(try await subject.store.completeSignIn(tie) == .refused(.revoked, nil))
            #expect(try await subject.store.usedAttempt(tie.attempt.id, at: subject.now)?.sessionIsLive == false)
            #expect(try await subject.store.signedIn(token: tie.tokenHash, at: subject.now) == nil)
        }
        #expect(try await subject.isLive(earlier) == false)
        // Begun after Apple told us, though `iat` ties: the person came back within the second.
        let back = record("stranger", issuedAt: time, attemptIssuedAt: time.adding(milliseconds: 1), at: subject.now)
        #expect(try await subject.store.completeSignIn(back).session != nil)
        let later = try await subject.signIn("other", issuedAt: time.adding(seconds: 1))
        #expect(try await subject.isLive(later))
    }

    @Test(
        "consent-revoked ends sign-ins up to its time, ties included, and no later one",
        arguments: StoreKind.allCases)
    func revokesConsent(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let time = subject.now
        let earlier = try await subject.signIn(issuedAt: time.adding(milliseconds: -1))
        let tie = try await subject.signIn(issuedAt: time)
        let bystander = try await subject.signIn("bob", issuedAt: time)
        let outcome = try await subject.store.apply(
            notification(.consentRevoked, time: time), team: Bench.team, at: subject.now)
        #expect(outcome == .applied)
        for session in [earlier, tie] { #expect(try await !subject.isLive(session)) }
        #expect(try await subject.isLive(bystander))
        #expect(try await subject.store.user(earlier.user)?.credentialState == .revoked)
        let journal = try await subject.journal()
        #expect(journal.filter { $0.kind == .sessionEnded }.map(\.cause) == [.consentRevoked, .consentRevoked])
        #expect(journal.filter { $0.kind == .consentRevoked }.map(\.user) == [earlier.user])

        // The person comes back, and the same event arrives late.
        let later = try await subject.signIn(issuedAt: time.adding(milliseconds: 1))
        #expect(try await subject.store.user(later.user)?.credentialState == .authorized)
        _ = try await subject.store.apply(
            notification(.consentRevoked, time: time), team: Bench.team, at: subject.now)
        #expect(try await subject.isLive(later))
        #expect(try await subject.store.user(later.user)?.credentialState == .authorized)
    }

    @Test("account-deleted erases the user when so configured", arguments: StoreKind.allCases)
    func erases(kind: StoreKind) async throws {
        let subject = try Subject(kind, onAccountDeleted: .erase)
        let session = try await subject.signIn()
        let outcome = try await subject.store.apply(
            notification(.accountDeleted, time: subject.now), team: Bench.team, at: subject.now)
        #expect(outcome == .applied)
        #expect(try await subject.store.user(session.user) == nil)
        #expect(try await !subject.isLive(session))
        let journal = try await subject.journal()
        #expect(journal.suffix(2).map(\.kind) == [.sessionEnded, .accountDeleted])
        #expect(journal.last?.user == session.user)
        // Whoever signs in with that subject later is somebody new.
        subject.clock.advance(seconds: 1)
        #expect(try await subject.signIn().user != session.user)
    }

    @Test("account-deleted disables the user when so configured", arguments: StoreKind.allCases)
    func disablesOnDeletion(kind: StoreKind) async throws {
        let subject = try Subject(kind, onAccountDeleted: .disable)
        let session = try await subject.signIn()
        _ = try await subject.store.apply(
            notification(.accountDeleted, time: subject.now), team: Bench.team, at: subject.now)
        let user = try await subject.store.user(session.user)
        #expect(user?.state == .disabled)
        #expect(user?.credentialState == .notFound)
        #expect(try await !subject.isLive(session))
        #expect(
            try await subject.store.completeSignIn(
                record(issuedAt: subject.now.adding(seconds: 1), at: subject.now)) == .refused(.disabled, session.user))
    }

    @Test("a deletion older than the latest sign-in ends the older sessions only", arguments: StoreKind.allCases)
    func lateDeletionSparesLaterSignIn(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let old = try await subject.signIn(issuedAt: subject.now.adding(seconds: -10))
        let new = try await subject.signIn(issuedAt: subject.now)
        _ = try await subject.store.apply(
            notification(.accountDeleted, time: subject.now.adding(seconds: -5)), team: Bench.team, at: subject.now)
        #expect(try await !subject.isLive(old))
        #expect(try await subject.isLive(new))
    }

    @Test("e-mail events count by their own time; older ones are recorded only", arguments: StoreKind.allCases)
    func ordersEmailEvents(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let user = try await subject.signIn().user
        func apply(_ kind: AppleNotification.Kind, _ offset: Int64) async throws -> NotificationOutcome {
            try await subject.store.apply(
                notification(kind, time: subject.now.adding(seconds: offset)), team: Bench.team, at: subject.now)
        }
        #expect(try await subject.store.user(user)?.emailForwarding == nil)
        #expect(try await apply(.emailDisabled, 10) == .applied)
        #expect(try await apply(.emailEnabled, 5) == .stale)
        #expect(try await subject.store.user(user)?.emailForwarding == false)
        #expect(try await apply(.emailEnabled, 10) == .applied)
        #expect(try await subject.store.user(user)?.emailForwarding == true)
        let kinds = try await subject.journal().map(\.kind).suffix(2)
        #expect(kinds == [.emailDisabled, .emailEnabled])
    }

    @Test("unknown people and unknown types are recorded without effect", arguments: StoreKind.allCases)
    func recordsUnknown(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        let before = try await subject.journal()
        for (kind, name, expected) in [
            (AppleNotification.Kind.consentRevoked, "nobody" as String?, NotificationOutcome.unknownSubject),
            (.consentRevoked, nil, .unknownSubject), (.unknown, "ann", .unknownType),
        ] {
            let id = "id-\(kind)-\(name ?? "")"
            let delivery = notification(kind, id: id, subject: name, time: subject.now)
            #expect(try await subject.store.apply(delivery, team: Bench.team, at: subject.now) == expected)
            #expect(try await subject.store.apply(delivery, team: Bench.team, at: subject.now) == .duplicate)
        }
        #expect(try await subject.isLive(session))
        #expect(try await subject.journal() == before)
    }

    @Test("a notification for another team affects nobody", arguments: StoreKind.allCases)
    func separatesTeams(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn()
        let outcome = try await subject.store.apply(
            notification(.consentRevoked, time: subject.now), team: TeamID("OTHERTEAM1"), at: subject.now)
        #expect(outcome == .unknownSubject)
        #expect(try await subject.isLive(session))
    }

    @Test("the journal's pages follow each other, narrowed or not", arguments: StoreKind.allCases)
    func pagesOfJournal(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let ann = try await subject.signIn("ann").user
        _ = try await subject.signIn("bob")
        let all = try await subject.journal()
        var found: [EventID] = []
        var place: EventPlace?
        repeat {
            let page = try #require(try await subject.store.eventPage(JournalFilter(), after: place, limit: 1))
            found += page.items.map(\.id)
            place = page.next
        } while place != nil
        #expect(found == all.map(\.id))
        let first = try #require(all.first)
        let ofAnn = try await subject.store.eventPage(JournalFilter(user: ann), after: .event(first.id), limit: 9)
        #expect(ofAnn?.items.map(\.id) == all.dropFirst().filter { $0.user == ann }.map(\.id))
        let beyond = EventPlace.sequence(Int64(all.count) + 1)
        #expect(try await subject.store.eventPage(JournalFilter(), after: beyond, limit: 9) == nil)
    }

    @Test("a revoked session is refused by the very next check of a cache", arguments: StoreKind.allCases)
    func cachesFollow(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        subject.store.store.tick(at: subject.now)
        for _ in 0..<50 {
            let session = try await subject.signIn()
            let cache = SessionCache(
                reader: try subject.store.makeReader(), invalidations: subject.store.invalidations,
                limits: Bench.limits, capacity: 10)
            // Where a loop's reader must not wait, a route has read the session before.
            #expect(try await subject.isLive(session))
            #expect(try cache.text(of: session.tokenHash, at: subject.now) { _ in "" } != nil)
            #expect(cache.count == 1)
            _ = try await subject.store.endSession(session.id, cause: .signOut, at: subject.now)
            #expect(try cache.text(of: session.tokenHash, at: subject.now) { _ in "" } == nil)
        }
    }
}
