import Coding
import Crypto
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

@Suite struct JournalCauseTests {
    /// A change of something, made on a database where ann (`p0`) is signed in, and the events it is told by.
    struct Change: Sendable, CustomTestStringConvertible {
        var name: String
        var told: [String]
        var change: @Sendable (WebhookBench) async throws -> Void
        var testDescription: String { name }
    }

    private static func notify(_ kind: AppleNotification.Kind, _ bench: WebhookBench) async throws {
        _ = try await bench.database.apply(
            notification(kind, subject: "p0", time: bench.now), team: Bench.team, at: bench.now)
    }

    private static func session(_ bench: WebhookBench) async throws -> Session {
        try #require(try await bench.database.sessions(of: bench.people[0], at: bench.now).first)
    }

    static let changes: [Change] = [
        Change(name: "somebody new signs in", told: ["user.created", "session.created"]) {
            _ = try await $0.database.completeSignIn(record("new", at: $0.now))
        },
        Change(name: "somebody new waits for approval", told: ["user.created", "user.pending"]) {
            _ = try await $0.database.completeSignIn(record("new", policy: .approval, at: $0.now))
        },
        Change(name: "somebody known signs in", told: ["session.created"]) {
            _ = try await $0.database.completeSignIn(record("p0", at: $0.now))
        },
        Change(name: "with another address", told: ["user.updated email", "session.created"]) {
            _ = try await $0.database.completeSignIn(record("p0", email: "x@example.com", at: $0.now))
        },
        Change(name: "the same person again in the same browser", told: ["session.created replaced"]) {
            _ = try await $0.database.completeSignIn(
                record("p0", replacing: try await session($0).id, at: $0.now))
        },
        Change(
            name: "another person in the same browser",
            told: ["user.created", "session.ended replaced", "session.created"]
        ) {
            _ = try await $0.database.completeSignIn(
                record("p1", replacing: try await session($0).id, at: $0.now))
        },
        Change(name: "sign-out", told: ["session.ended sign_out"]) {
            _ = try await $0.database.endSession(try await session($0).id, cause: .signOut, at: $0.now)
        },
        Change(name: "one session of the person's own", told: ["session.ended revoked_by_user"]) {
            _ = try await $0.database.endSession(
                try await session($0).id, of: $0.people[0], cause: .revokedByUser, at: $0.now)
        },
        Change(name: "all sessions, by the operator", told: ["session.ended revoked_by_operator"]) {
            _ = try await $0.database.endSessions(
                of: $0.people[0], except: nil, cause: .revokedByOperator, at: $0.now)
        },
        Change(name: "groups and external id", told: ["user.updated externalID,groups"]) {
            _ = try await $0.database.patchUser(
                $0.people[0], UserPatch(externalID: .some("x"), groups: ["staff"]), at: $0.now)
        },
        Change(name: "disabled", told: ["user.updated state", "session.ended user_disabled"]) {
            _ = try await $0.database.patchUser($0.people[0], UserPatch(state: .disabled), at: $0.now)
        },
        Change(name: "deleted here", told: ["session.ended account_deleted", "account.deleted"]) {
            _ = try await $0.database.deleteUser($0.people[0], at: $0.now)
        },
        Change(
            name: "consent revoked",
            told: ["session.ended consent_revoked", "consent.revoked", "user.updated credentialState"]
        ) {
            try await notify(.consentRevoked, $0)
        },
        Change(name: "account deleted at Apple", told: ["session.ended account_deleted", "account.deleted"]) {
            try await notify(.accountDeleted, $0)
        },
        Change(name: "forwarding off", told: ["email.disabled"]) { try await notify(.emailDisabled, $0) },
        Change(name: "forwarding on", told: ["email.enabled"]) { try await notify(.emailEnabled, $0) },
        Change(name: "the session expires", told: ["session.ended expired"]) {
            $0.bench.clock.advance(seconds: 3_600)
            _ = try await $0.database.maintain(at: $0.now)
        },
    ]

    private static func text(_ entry: JournalEntry) -> String {
        [entry.kind.rawValue, entry.cause?.rawValue, entry.fields.isEmpty ? nil : entry.fields.joined(separator: ",")]
            .compactMap { $0 }.joined(separator: " ")
    }

    @Test(arguments: changes)
    func hasItsEvent(change: Change) async throws {
        let bench = try await WebhookBench(people: 1)
        let before = try await bench.database.events(after: nil, limit: 100).count
        try await change.change(bench)
        #expect(try await bench.database.events(after: nil, limit: 100).dropFirst(before).map(Self.text) == change.told)
    }

    /// The entry is in the transaction of the change: without it nothing changes.
    @Test(.onSQLite, arguments: changes)
    func everyChangeHasAnEvent(change: Change) async throws {
        let bench = try await WebhookBench(people: 1)
        try bench.bench.stranger().write {
            try $0.execute(
                "CREATE TRIGGER silence BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no journal'); END")
        }
        let before = try state(bench)
        await #expect(throws: Failure.self) { try await change.change(bench) }
        #expect(try state(bench) == before)
    }

    /// Every kind that has a cause so far; a person's move to another team has none yet. LinkRepeatTests has those of
    /// links, Tests/System/OpenID/test_applications.py the end of an access.
    @Test func everyKindIsAmongThem() {
        let told = Set(Self.changes.flatMap(\.told).map { $0.prefix { $0 != " " } }.map(String.init))
        let untold = Set(JournalEntry.Kind.allCases.map(\.rawValue)).subtracting(told)
        let kinds: [JournalEntry.Kind] = [.userTransferred, .accountLinked, .accountUpgraded, .accessEnded]
        #expect(untold == Set(kinds.map(\.rawValue)))
    }

    private func state(_ bench: WebhookBench) throws -> [String] {
        try bench.bench.stranger().read { connection in
            try ["user", "session", "apple_identity", "apple_credential", "event", "used_attempt", "notification"].map {
                try connection.rows("SELECT * FROM \($0)").map { "\($0)" }.joined()
            }
        }
    }
}
