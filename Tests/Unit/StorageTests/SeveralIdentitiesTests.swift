import Coding
import Foundation
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// A person with two identities at Apple, through the real store: one of them says nothing of the other.
@Suite struct SeveralIdentitiesTests {
    let bench: Bench
    let database: Accounts.Database
    /// Of the person, and a session by each identity.
    let user: UserID
    let (ann, bob): (Session, Session)

    init() async throws { try await self.init(.erase) }

    private init(_ policy: AccountDeletionPolicy) async throws {
        bench = try Bench()
        database = try bench.open(bench.options(onAccountDeleted: policy))
        let now = bench.clock.now()
        ann = try #require(try await database.completeSignIn(record("ann", at: now)).session)
        bob = try #require(try await database.completeSignIn(record("bob", at: now)).session)
        user = ann.user
        let (first, second) = (ann.user.rawValue, bob.user.rawValue)
        try bench.stranger().write { connection in
            try connection.execute(
                """
                UPDATE apple_identity SET user = ?1 WHERE user = ?2;
                """, [first, second])
            try connection.execute("UPDATE session SET user = ? WHERE user = ?", [first, second])
            try connection.execute("DELETE FROM user WHERE id = ?", [second])
        }
    }

    private var now: Timestamp { bench.clock.now() }

    /// - Returns: when it was, by Apple's clock.
    private func notify(_ kind: AppleNotification.Kind, _ subject: String) async throws -> Timestamp {
        bench.clock.advance(seconds: 60)
        let told = notification(kind, id: UUID().uuidString, subject: subject, time: now)
        #expect(try await database.apply(told, team: Bench.team, at: now) == .applied)
        return now
    }

    /// What the person's credential is, wherever it is read.
    private func credential() async throws -> CredentialStatus? {
        let credential = try await database.user(user)?.credential
        for subject in ["ann", "bob"] {
            let found = try await database.user(team: Bench.team, subject: AppleSubject(subject))
            #expect(found == nil || found?.credential == credential)
        }
        #expect(try await database.accountRecord(of: user, newest: 100, at: now)?.user.credential == credential)
        let listed = try await database.users(UserFilter(), after: nil, limit: 10).items
        #expect(listed.map(\.credential) == [credential].compactMap { $0 })
        for session in [ann, bob] {
            let seen = try await database.signedIn(token: session.tokenHash, at: now)
            #expect(seen == nil || seen?.user.credential == credential)
        }
        return credential
    }

    private func identities() async throws -> [CredentialState] {
        try await database.identities(of: user)?.map(\.credential.state) ?? []
    }

    /// The events since the two signed in.
    private func eventLines() async throws -> [String] {
        try await database.events(after: nil, limit: 100).dropFirst(4).map { entry in
            ([entry.kind.rawValue] + entry.fields).joined(separator: " ")
        }
    }

    @Test("with one consent withdrawn the person is authorized by the other; with both, the later end counts")
    func authorizedByAny() async throws {
        _ = try await notify(.consentRevoked, "ann")
        #expect(try await credential()?.state == .authorized)
        #expect(try await identities() == [.revoked, .authorized])
        #expect(try await eventLines() == ["session.ended", "consent.revoked"])
        let end = try await notify(.consentRevoked, "bob")
        #expect(
            try await credential() == CredentialStatus(state: .revoked, changedAt: end, cause: .consentRevoked))
        #expect(
            try await eventLines().suffix(3) == ["session.ended", "consent.revoked", "user.updated credentialState"])
        // Back by the first one: the second stays as it is.
        bench.clock.advance(seconds: 60)
        _ = try await database.completeSignIn(record("ann", at: now))
        #expect(try await credential()?.state == .authorized)
        #expect(try await identities() == [.authorized, .revoked])
        #expect(try await eventLines().suffix(2) == ["user.updated credentialState", "session.created"])
    }

    @Test("a deleted Apple Account ends only its identity: the person stays signed in by the other")
    func oneErased() async throws {
        _ = try await notify(.accountDeleted, "ann")
        #expect(try await identities() == [.authorized])
        let left = try #require(try await database.user(user))
        #expect(left.appleSubject == AppleSubject("bob") && left.state == .active)
        #expect(try await database.signedIn(token: ann.tokenHash, at: now) == nil)
        #expect(try await database.signedIn(token: bob.tokenHash, at: now) != nil)
        #expect(try await eventLines() == ["session.ended", "user.updated identities appleSubject"])
        #expect(try await credential()?.state == .authorized)
        _ = try await notify(.accountDeleted, "bob")
        #expect(try await database.user(user) == nil)
        #expect(try await eventLines().suffix(2) == ["session.ended", "account.deleted"])
    }

    @Test("with the policy disable, the person is disabled only without any identity left")
    func oneDisabled() async throws {
        let people = try await Self(.disable)
        try await people.disabled()
    }

    private func disabled() async throws {
        _ = try await notify(.accountDeleted, "bob")
        #expect(try await identities() == [.authorized, .notFound])
        #expect(try await database.user(user)?.state == .active)
        #expect(try await credential()?.state == .authorized)
        #expect(try await database.signedIn(token: ann.tokenHash, at: now) != nil)
        #expect(try await eventLines() == ["session.ended", "user.updated identities"])
        _ = try await notify(.accountDeleted, "ann")
        #expect(try await database.user(user)?.state == .disabled)
        #expect(try await credential()?.state == .notFound)
        #expect(try await eventLines().contains("account.deleted"))
    }
}
