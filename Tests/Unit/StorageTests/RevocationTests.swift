import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// Deleted people: what is queued for Apple, what a sign-in beside it does, and what is left.
@Suite struct RevocationTests {
    private static let token = "r.0123456789abcdef.apple"
    private let bench: Bench
    private let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    /// A sign-in with a refresh token sealed as `SignIn` seals it.
    private func sealedRecord(_ subject: String) -> SignInRecord {
        var new = record(subject, at: bench.clock.now())
        new.sealedRefreshToken = bench.keyring.seal(
            Array(Self.token.utf8), purpose: .refreshToken,
            context: RefreshToken.sealingContext(
                team: Bench.team, subject: AppleSubject(subject), clientID: Bench.web))
        return new
    }

    private func delete(_ subject: String) async throws -> UserID {
        let user = try #require(try await database.completeSignIn(sealedRecord(subject)).user)
        #expect(try await database.deleteUser(user.id, at: bench.clock.now()) == .deleted(revocations: 1))
        return user.id
    }

    private func due(in other: Accounts.Database? = nil) async throws -> [QueuedRevocation] {
        try await (other ?? database).dueRevocations(at: bench.clock.now(), limit: 10)
    }

    @Test("the queued token opens without the person's subject, only for this entry, and under an old key too")
    func reseals() async throws {
        _ = try await delete("ann")
        _ = try await delete("bob")
        database.close()
        let entries = try await due(in: bench.open())
        try #require(entries.count == 2)
        let rings = [bench.keyring, SealingKeyring(current: .generate(), previous: [Bench.key])]
        for (entry, other) in [(entries[0], entries[1]), (entries[1], entries[0])] {
            let context = QueuedRevocation.sealingContext(subjectHash: entry.subjectHash, clientID: entry.clientID)
            for ring in rings {
                let opened = try ring.open(entry.sealedRefreshToken, purpose: .refreshToken, context: context)
                #expect(String(decoding: opened, as: UTF8.self) == Self.token)
            }
            #expect(throws: SealingError.self) {
                try bench.keyring.open(other.sealedRefreshToken, purpose: .refreshToken, context: context)
            }
        }
    }

    /// The worker holds what was due while Apple is slow with another; the person comes back, somebody else is deleted.
    @Test("entry IDs are not reused")
    func idsAreNotReused() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        #expect(try await database.completeSignIn(sealedRecord("ann")).session != nil)
        _ = try await delete("bob")
        let deadline = bench.clock.now().adding(seconds: 30)
        #expect(try await !database.beginRevocation(entry.id, at: bench.clock.now(), until: deadline))
        #expect(try await due().count == 1)
    }

    /// Apple confirmed the code, then acted on our revocation, and the sign-in is stored last.
    @Test("a sign-in that Apple confirmed before it acted is refused, one that begins afterwards is not")
    func signInAcross() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        let deadline = bench.clock.now().adding(seconds: 30)
        #expect(try await database.beginRevocation(entry.id, at: bench.clock.now(), until: deadline))
        var across = sealedRecord("ann")
        try await database.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: "Ann"), at: bench.clock.now())
        bench.clock.advance(seconds: 2)
        #expect(try await database.finishRevocation(entry.id, at: bench.clock.now()))
        across.now = bench.clock.now()
        #expect(try await database.completeSignIn(across) == .refused(.revoked, nil))
        // Apple may have acted before the person consented again, and will not say the name again.
        #expect(try bench.text("SELECT given_name FROM first_consent") == "Ann")
        bench.clock.advance(seconds: 1)
        let back = try await database.completeSignIn(sealedRecord("ann"))
        #expect(back.session != nil)
        #expect(back.user?.name == PersonName(given: "Ann"))
        #expect(try bench.text("SELECT count(*) FROM first_consent") == "0")
    }

    @Test("a mark from before the clock was set back blocks nobody")
    func clockSetBack() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        let now = bench.clock.now()
        #expect(try await database.beginRevocation(entry.id, at: now, until: now.adding(seconds: 30)))
        bench.clock.advance(seconds: -7200)
        #expect(try await database.completeSignIn(sealedRecord("ann")).session != nil)
    }

    @Test("a finished revocation stays finished, whatever a late worker reports", .onSQLite)
    func lateWorker() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        #expect(try await database.finishRevocation(entry.id, at: bench.clock.now()))
        try await database.postponeRevocation(entry.id, until: bench.clock.now(), failure: "provider_unavailable")
        #expect(try bench.text("SELECT failure || (next_attempt_at IS NULL) FROM revocation") == "done1")
    }

    @Test("a process that dies while asking Apple blocks sign-ins only for the flight time")
    func crash() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        let deadline = bench.clock.now().adding(seconds: 30)
        #expect(try await database.beginRevocation(entry.id, at: bench.clock.now(), until: deadline))
        database.close()
        let second = try bench.open()
        bench.clock.advance(milliseconds: 29_999)
        #expect(try await due(in: second).isEmpty)
        #expect(try await second.completeSignIn(sealedRecord("ann")) == .refused(.revoked, nil))
        bench.clock.advance(milliseconds: 1)
        #expect(try await due(in: second).map(\.id) == [entry.id])
        #expect(try await second.completeSignIn(sealedRecord("ann")).session != nil)
        #expect(try await due(in: second).isEmpty)
    }

    @Test("notifications about deleted people are kept without payload and subject; about strangers with both")
    func echo() async throws {
        _ = try await delete("ann")
        // One whose token was dead already is remembered too.
        _ = try await database.completeSignIn(sealedRecord("cat"))
        bench.clock.advance(seconds: 60)
        _ = try await database.apply(
            notification(.consentRevoked, subject: "cat", time: bench.clock.now()), team: Bench.team,
            at: bench.clock.now())
        let cat = try #require(try await database.user(team: Bench.team, subject: AppleSubject("cat")))
        #expect(try await database.deleteUser(cat.id, at: bench.clock.now()) == .deleted(revocations: 0))
        for (subject, isKept) in [("ann", false), ("cat", false), ("stranger", true)] {
            let told = notification(.emailDisabled, id: "n-\(subject)", subject: subject, time: bench.clock.now())
            let outcome = try await database.apply(told, team: Bench.team, at: bench.clock.now())
            #expect(outcome == .unknownSubject)
            let kept = try bench.text(
                "SELECT payload IS NOT NULL AND subject IS NOT NULL FROM notification WHERE jti = 'n-\(subject)'")
            #expect(kept == (isKept ? "1" : "0"), "\(subject)")
            // Known for a duplicate anyway.
            #expect(try await database.apply(told, team: Bench.team, at: bench.clock.now()) == .duplicate)
        }
    }

    @Test("deletions are forgotten after 90 days, unfinished ones never")
    func retention() async throws {
        _ = try await delete("ann")
        let entry = try #require(try await due().first)
        #expect(try await database.finishRevocation(entry.id, at: bench.clock.now()))
        _ = try await delete("bob")
        bench.clock.advance(milliseconds: 90 * 86_400_000 - 1)
        #expect(try await database.maintain(at: bench.clock.now()).revocations == 0)
        bench.clock.advance(milliseconds: 1)
        #expect(try await database.maintain(at: bench.clock.now()).revocations == 1)
        #expect(try await due().count == 1)
    }

    enum Deletion: CaseIterable {
        case here, byCommand, byCommandAlone, byApple
    }

    @Test(
        "nothing of a deleted person is left in the files, while the server still runs", .onSQLite,
        arguments: Deletion.allCases)
    func noTrace(_ way: Deletion) async throws {
        let subject = "000777.f00dfeedf00dfeedf00dfeedf00dfeed.0777"
        let traces = [
            subject, "Zyxomma", "Petiolatum", "zyxomma@example.com", "Gastrolith/7.77", "203.0.113.77",
        ]
        try await database.saveFirstConsent(
            team: Bench.team, subject: AppleSubject(subject), name: PersonName(given: "Zyxomma", family: "Petiolatum"),
            at: bench.clock.now())
        var new = sealedRecord(subject)
        new.claims.email = EmailAddress(address: "zyxomma@example.com", isVerified: true, isPrivate: false)
        new.device = Device(userAgent: "Gastrolith/7.77", address: "203.0.113.77")
        let user = try #require(try await database.completeSignIn(new).user)
        _ = try await database.patchUser(
            user.id, UserPatch(externalID: "External-4711", groups: ["Zyxomma"]), at: bench.clock.now())
        // Again, with a name that no finished sign-in uses.
        try await database.saveFirstConsent(
            team: Bench.team, subject: AppleSubject(subject), name: PersonName(given: "Zyxomma"), at: bench.clock.now())
        _ = try await database.apply(
            notification(.emailDisabled, subject: subject, time: bench.clock.now()), team: Bench.team,
            at: bench.clock.now())
        let before = try String(decoding: bench.databaseBytes(), as: UTF8.self)
        for trace in traces { #expect(before.contains(trace), "\(trace) was never there") }
        bench.clock.advance(seconds: 1)
        switch way {
        case .here: #expect(try await database.deleteUser(user.id, at: bench.clock.now()) != .unknown)
        case .byCommand, .byCommandAlone:
            if way == .byCommandAlone { database.close() }
            var options = bench.options()
            options.store.use = .command
            let command = try bench.open(options)
            #expect(try await command.deleteUser(user.id, at: bench.clock.now()) != .unknown)
            command.close()
        case .byApple:
            _ = try await database.apply(
                notification(.accountDeleted, id: "gone", subject: subject, time: bench.clock.now()), team: Bench.team,
                at: bench.clock.now())
        }
        if way == .byCommandAlone {
            let after = try String(decoding: bench.databaseBytes(), as: UTF8.self)
            for trace in traces { #expect(!after.contains(trace), "\(trace) is still there") }
            return
        }
        // The echo of our own revocation.
        _ = try await database.apply(
            notification(.consentRevoked, subject: subject, time: bench.clock.now()), team: Bench.team,
            at: bench.clock.now())
        database.store.tick(at: bench.clock.now())
        _ = try await database.maintain(at: bench.clock.now())
        let after = try String(decoding: bench.databaseBytes(), as: UTF8.self)
        for trace in traces { #expect(!after.contains(trace), "\(trace) is still there") }
        #expect(after.contains(user.id.rawValue), "the journal keeps ids")
        #expect(after.contains("External-4711"), "the application's own id as well: account.deleted carries it")
    }
}

@Suite struct LeaseTests {
    /// Milliseconds. PostgreSQL's clock continues, so that the databases of one test are seconds apart when it is slow.
    static let margin: Int64 = TestEngine.isPostgres ? 25_000 : 1

    @Test("a lease has one holder at a time, until it is released or expires")
    func oneHolder() async throws {
        let bench = try Bench()
        let (first, second) = (try bench.open(), try bench.open())
        func hold(_ database: Accounts.Database, _ holder: String) async throws -> Bool {
            try await database.holdLease(.revocations, holder: holder, seconds: 60, at: bench.clock.now())
        }
        #expect(try await hold(first, "a"))
        #expect(try await hold(first, "a"))
        #expect(try await !hold(second, "b"))
        #expect(try await second.holdLease(.webhooks, holder: "b", seconds: 60, at: bench.clock.now()))
        bench.clock.advance(milliseconds: 60_000 - Self.margin)
        #expect(try await !hold(second, "b"))
        bench.clock.advance(milliseconds: 2 * Self.margin - 1)
        #expect(try await hold(second, "b"))
        #expect(try await !hold(first, "a"))
        // Another's is not given back.
        try await first.releaseLease(.revocations, holder: "a")
        #expect(try await !hold(first, "a"))
        try await second.releaseLease(.revocations, holder: "b")
        #expect(try await hold(first, "a"))
    }

    @Test("a slightly earlier clock does not take a lease; one set back by hours does not block it")
    func clockSetBack() async throws {
        let (bench, database) = try Bench().opened()
        #expect(try await database.holdLease(.revocations, holder: "a", seconds: 60, at: bench.clock.now()))
        bench.clock.advance(seconds: -30)
        #expect(try await !database.holdLease(.revocations, holder: "b", seconds: 60, at: bench.clock.now()))
        bench.clock.advance(seconds: -3_600)
        #expect(try await database.holdLease(.revocations, holder: "b", seconds: 60, at: bench.clock.now()))
    }
}

@Suite struct AccountRecordTests {
    @Test("everything about the person and nothing about others", arguments: StoreKind.allCases)
    func record(kind: StoreKind) async throws {
        let subject = try StoreContractTests.Subject(kind)
        let session = try await subject.signIn("ann")
        _ = try await subject.signIn("bob")
        try await subject.store.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: "Ann"), at: subject.now)
        for person in ["ann", "bob"] {
            _ = try await subject.store.apply(
                notification(.emailDisabled, subject: person, time: subject.now), team: Bench.team, at: subject.now)
        }
        let record = try #require(try await subject.store.accountRecord(of: session.user, newest: 100, at: subject.now))
        #expect(try await record.user == subject.store.user(session.user))
        #expect(record.sessions == [session])
        #expect(record.identities.map(\.subject.rawValue) == ["ann"])
        #expect(record.identities.first?.team == Bench.team)
        #expect(record.identities.first?.lastSignInAt == session.issuedAt)
        #expect(record.identities.first?.unfinishedName == PersonName(given: "Ann"))
        #expect(record.identities.first?.credentials.map(\.clientID) == [Bench.web])
        #expect(record.identities.first?.credentials.first?.holdsToken == true)
        #expect(record.notifications.map(\.type) == ["email-disabled"])
        #expect(record.notifications.first?.outcome == "applied")
        #expect(record.events.map(\.kind) == [.emailDisabled, .sessionCreated, .userCreated])
        #expect(record.events.allSatisfy { $0.user == session.user })
        #expect(record.isComplete)
        // A session past its end is not a session.
        subject.clock.advance(seconds: 3_600)
        #expect(
            try await subject.store.accountRecord(of: session.user, newest: 100, at: subject.now)?.sessions.isEmpty
                == true)
        #expect(try await subject.store.deleteUser(session.user, at: subject.now) == .deleted(revocations: 1))
        #expect(try await subject.store.accountRecord(of: session.user, newest: 100, at: subject.now) == nil)
    }
}
