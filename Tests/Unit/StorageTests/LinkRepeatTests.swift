import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// A completed link may be completed again, and succeeds only while its account can sign in with Apple: the application
/// asks once more before it drops a password.
@Suite struct LinkRepeatTests {
    private static let otherTeam = TeamID("OTHER12345")

    /// A completed link, and what its backend holds.
    struct Completed: Sendable {
        var bench: LinkBench
        var link: NewLink
        var code: LinkCode
        var user: UserID

        init(
            _ externalID: String = "account-1", kind: LinkKind = .upgrade,
            onAccountDeleted: AccountDeletionPolicy = .erase
        ) async throws {
            bench = try LinkBench(onAccountDeleted: onAccountDeleted)
            link = try await bench.link(externalID, kind: kind)
            code = try await bench.authorize(link)
            user = try await bench.complete(link, code).id
        }

        func again(_ bench: LinkBench? = nil) async -> String {
            await reason { _ = try await (bench ?? self.bench).complete(link, code) }
        }

        func patch(_ patch: UserPatch) async throws {
            _ = try await bench.database.patchUser(user, patch, at: bench.now)
        }

        func notify(_ kind: AppleNotification.Kind) async throws {
            bench.clock.advance(seconds: 60)
            _ = try await bench.database.apply(
                notification(kind, time: bench.now), team: Bench.team, at: bench.now)
        }

        func signIn() async throws {
            bench.clock.advance(seconds: 60)
            guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw Unexpected() }
            #expect(session.user == user)
        }
    }

    /// What happens to the account after it was completed, what a repetition then says, and how it becomes a success
    /// again, where it may.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var expected: String
        var externalID = "account-1"
        var policy = AccountDeletionPolicy.erase
        var change: @Sendable (Completed) async throws -> Void
        var wayBack: (@Sendable (Completed) async throws -> Void)?
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "nothing", expected: "ok") { _ in },
        Case(
            name: "disabled", expected: "user_disabled",
            change: { try await $0.patch(UserPatch(state: .disabled)) },
            wayBack: { try await $0.patch(UserPatch(state: .active)) }),
        Case(
            name: "pending", expected: "user_pending", change: { try await $0.patch(UserPatch(state: .pending)) },
            wayBack: { try await $0.patch(UserPatch(state: .active)) }),
        Case(name: "deleted here", expected: "link_unknown") {
            _ = try await $0.bench.database.deleteUser($0.user, at: $0.bench.now)
        },
        Case(
            name: "consent withdrawn at Apple", expected: "revoked", change: { try await $0.notify(.consentRevoked) },
            wayBack: { try await $0.signIn() }),
        Case(name: "Apple Account deleted, the user with it", expected: "link_unknown") {
            try await $0.notify(.accountDeleted)
        },
        Case(
            name: "Apple Account deleted, the user kept and disabled", expected: "user_disabled", policy: .disable,
            change: { try await $0.notify(.accountDeleted) }),
        Case(
            name: "Apple Account deleted, the user kept and enabled", expected: "link_ended", policy: .disable,
            change: {
                try await $0.notify(.accountDeleted)
                try await $0.patch(UserPatch(state: .active))
            }),
        Case(name: "on the way to a team that Apple does not let them into", expected: "link_ended") {
            let database = $0.bench.database
            let person = try await export($0.bench)
            try await database.keepRefusal("refused", of: person, to: otherTeam, at: $0.bench.now)
        },
        Case(name: "on the way to another team", expected: "ok") { _ = try await export($0.bench) },
        Case(name: "moved to another team", expected: "ok") {
            let moved = try await $0.bench.database.move(
                try await export($0.bench), to: TransferredIdentity(subject: AppleSubject("new-ann"), email: nil),
                of: otherTeam, joins: false, at: $0.bench.now)
            #expect(moved == .moved($0.user))
        },
        Case(
            name: "another external ID", expected: "link_ended",
            change: { try await $0.patch(UserPatch(externalID: .some("renamed"))) },
            wayBack: { try await $0.patch(UserPatch(externalID: .some("account-1"))) }),
        Case(
            name: "no external ID", expected: "link_ended",
            change: { try await $0.patch(UserPatch(externalID: .some(nil))) },
            wayBack: { try await $0.patch(UserPatch(externalID: .some("account-1"))) }),
        Case(
            name: "the external ID in another spelling", expected: "link_ended", externalID: "caf\u{E9}",
            change: { try await $0.patch(UserPatch(externalID: .some("cafe\u{301}"))) }),
        Case(name: "the account taken by a link of another Apple Account", expected: "link_ended") {
            _ = try await $0.bench.linked("account-1", "bob", mayReplace: true)
        },
        Case(name: "the identity moved to another user, who had none of the account", expected: "link_ended") {
            // They keep another one.
            guard case .signedIn(_, let bob, _) = await $0.bench.signInWithApple("bob") else { throw Unexpected() }
            guard case .signedIn(_, let eve, _) = await $0.bench.signInWithApple("eve") else { throw Unexpected() }
            let user = $0.user.rawValue
            try $0.bench.bench.stranger().write { connection in
                try connection.execute(
                    "UPDATE apple_identity SET user = ? WHERE user = ?", [user, bob.user.rawValue])
                try connection.execute(
                    "UPDATE apple_identity SET user = ? WHERE subject = 'ann'", [eve.user.rawValue])
            }
        },
        Case(name: "their only identity moved to another user", expected: "link_unknown") {
            guard case .signedIn(_, let eve, _) = await $0.bench.signInWithApple("eve") else { throw Unexpected() }
            try $0.bench.bench.stranger().write { connection in
                try connection.execute(
                    "UPDATE apple_identity SET user = ? WHERE subject = 'ann'", [eve.user.rawValue])
            }
        },
        Case(name: "the user became part of another, who has the account now", expected: "ok") {
            let bench = $0.bench
            var former = record("old-ann", at: bench.now)
            former.team = otherTeam
            let first = try #require(try await bench.database.completeSignIn(former).user)
            let person = try await export(bench, of: otherTeam, to: Bench.team)
            let joined = try await bench.database.move(
                person, to: TransferredIdentity(subject: AppleSubject("ann"), email: nil), of: Bench.team, joins: true,
                at: bench.now)
            #expect(joined == .joined(first.id, from: $0.user))
        },
    ]

    /// The first person of a team, as Apple names them to the other.
    private static func export(
        _ bench: LinkBench, of sender: TeamID = Bench.team, to target: TeamID = otherTeam
    ) async throws -> TransferSubject {
        let person = try #require(
            try await bench.database.peopleToExport(of: sender, to: target, again: false, after: nil, limit: 10).first)
        let answer = TransferAnswer(person: person, outcome: .value(TransferSubject("t.ann")))
        _ = try await bench.database.keepExports([answer], of: sender, to: target, at: bench.now)
        return try #require(
            try await bench.database.peopleToImport(to: target, again: false, after: nil, limit: 10).first)
    }

    @Test("a repetition says whether the account can still sign in with Apple", arguments: cases)
    func repeats(test: Case) async throws {
        let completed = try await Completed(test.externalID, onAccountDeleted: test.policy)
        let bench = completed.bench
        #expect(await completed.again() == "ok")
        try await test.change(completed)
        let before = try await bench.events()
        // At another server too, and after a restart.
        let other = try bench.beside()
        for server in [bench, bench, other] { #expect(await completed.again(server) == test.expected) }
        other.database.close()
        if test.expected != "ok" {
            let isLogged = bench.log.lines.contains { $0.contains("completed, but its account cannot sign in") }
            #expect(isLogged == (test.expected != "link_unknown"))
        }
        if let wayBack = test.wayBack {
            try await wayBack(completed)
            #expect(await completed.again() == "ok")
        } else {
            // Asking changes nothing.
            #expect(try await bench.events() == before)
        }
        let told = try await bench.eventLines().filter { $0.hasSuffix(completed.link.id.rawValue) }
        #expect(told == ["account.upgraded \(completed.link.id)"])
    }

    @Test("a repetition names the user who finally has the account")
    func namesTheSurvivor() async throws {
        let completed = try await Completed()
        let test = try #require(Self.cases.first { $0.name.contains("became part of another") })
        try await test.change(completed)
        let user = try await completed.bench.complete(completed.link, completed.code)
        #expect(user.id != completed.user && user.externalID == "account-1")
    }

    @Test(
        "the event is written once and names the link, however often it is completed",
        arguments: LinkKind.allCases)
    func hasOneEvent(kind: LinkKind) async throws {
        let bench = try LinkBench()
        let other = try bench.beside()
        let link = try await bench.link(kind: kind)
        let code = try await bench.authorize(link)
        let outcomes = await withTaskGroup(of: String.self) { group in
            for server in [bench, other, bench, other, bench, other] {
                group.addTask { await reason { _ = try await server.complete(link, code) } }
            }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(outcomes == ["ok"])
        for server in [bench, other] { _ = try await server.complete(link, code) }
        #expect(try await bench.eventLines() == ["account.\(kind == .link ? "linked" : "upgraded") \(link.id)"])
        let entries = try await bench.database.events(after: nil, limit: 10)
        #expect(entries.map(\.link) == [nil, link.id])
        #expect(entries.last?.externalID == "account-1")
    }

    @Test("each link of one account has its own event")
    func eventForEachLink() async throws {
        let completed = try await Completed()
        let second = try await completed.bench.link(kind: .link)
        _ = try await completed.bench.complete(second, try await completed.bench.authorize(second))
        #expect(
            try await completed.bench.eventLines() == [
                "account.upgraded \(completed.link.id)", "account.linked \(second.id)",
            ])
    }

    @Test(
        "without its event a link is not completed, and nothing changes", .onSQLite, arguments: [false, true])
    func completesWithItsEventOrNotAtAll(isKnown: Bool) async throws {
        let bench = try LinkBench()
        if isKnown { _ = await bench.signInWithApple() }
        let stranger = try bench.bench.stranger()
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        let before = try bench.dump()
        try stranger.write {
            try $0.execute(
                """
                CREATE TRIGGER silence BEFORE INSERT ON event WHEN NEW.type LIKE 'account.%'
                BEGIN SELECT RAISE(ABORT, 'no journal'); END
                """)
        }
        #expect(await reason { _ = try await bench.complete(link, code) } == "unavailable")
        #expect(try bench.dump() == before)
        #expect(try await bench.row(link.id).state == .authorized)
        try stranger.write { try $0.execute("DROP TRIGGER silence") }
        #expect(await reason { _ = try await bench.complete(link, code) } == "ok")
        #expect(try await bench.eventLines() == ["account.upgraded \(link.id)"])
    }

    @Test("after a day the link is gone, and a repetition says so")
    func forgotten() async throws {
        let completed = try await Completed()
        let bench = completed.bench
        bench.clock.advance(seconds: RetentionPolicy.links - 1)
        _ = try await bench.database.maintain(at: bench.now)
        #expect(await completed.again() == "ok")
        bench.clock.advance(seconds: 1)
        _ = try await bench.database.maintain(at: bench.now)
        #expect(await completed.again() == "link_unknown")
        #expect(try await bench.user() != nil)
    }

    @Test("repeating a completion does not undo later reports from Apple")
    func newerAddressStays() async throws {
        let completed = try await Completed()
        let bench = completed.bench
        bench.clock.advance(seconds: 60)
        _ = try await bench.database.completeSignIn(record(email: "new@example.com", at: bench.now))
        #expect(try await bench.complete(completed.link, completed.code).email?.address == "new@example.com")
        #expect(try await bench.user()?.email?.address == "new@example.com")
    }

    @Test("a link completed under the former team is still reported as completed")
    func teamChangedAfter() async throws {
        let completed = try await Completed()
        let other = try completed.bench.restarted(team: Self.otherTeam)
        #expect(await completed.again(other) == "ok")
    }
}
