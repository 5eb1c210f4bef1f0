import Coding
import Crypto
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// What may happen between the steps of a link: the process ends, the person goes, the configuration changes.
@Suite struct LinkBetweenStepsTests {
    private static let otherTeam = TeamID("OTHER12345")

    private let bench: LinkBench

    init() throws { bench = try LinkBench() }

    /// What happens while a link waits for its code.
    enum Meanwhile: String, CaseIterable, Sendable {
        case disabled, pending, deleted, consentRevoked, erasedByApple, disabledByApple

        var expected: String {
            switch self {
            case .disabled: "user_disabled"
            case .pending: "user_pending"
            // What waited is erased with its person.
            case .deleted, .erasedByApple: "link_unknown"
            case .consentRevoked, .disabledByApple: "revoked"
            }
        }
    }

    @Test(
        "a link fails permanently if its person is deleted, disabled or revoked before completion",
        arguments: Meanwhile.allCases)
    func meanwhile(meanwhile: Meanwhile) async throws {
        let bench = try LinkBench(onAccountDeleted: meanwhile == .disabledByApple ? .disable : .erase)
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw Unexpected() }
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        bench.clock.advance(seconds: 60)
        func notify(_ kind: AppleNotification.Kind) async throws {
            _ = try await bench.database.apply(notification(kind, time: bench.now), team: Bench.team, at: bench.now)
        }
        switch meanwhile {
        case .disabled:
            _ = try await bench.database.patchUser(session.user, UserPatch(state: .disabled), at: bench.now)
        case .pending:
            _ = try await bench.database.patchUser(session.user, UserPatch(state: .pending), at: bench.now)
        case .deleted: _ = try await bench.database.deleteUser(session.user, at: bench.now)
        case .consentRevoked: try await notify(.consentRevoked)
        case .erasedByApple, .disabledByApple: try await notify(.accountDeleted)
        }
        for _ in 0..<2 { #expect(await reason { _ = try await bench.complete(link, code) } == meanwhile.expected) }
        #expect(try await bench.user() == nil)
        #expect(try await bench.eventLines().isEmpty)
        #expect(try bench.dump().filter { $0.hasPrefix("session") && $0.contains("native") }.isEmpty)
    }

    @Test("no user is created if a new person's consent ended before completion")
    func newcomerRevoked() async throws {
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        bench.clock.advance(seconds: 60)
        _ = try await bench.database.apply(
            notification(.consentRevoked, time: bench.now), team: Bench.team, at: bench.now)
        for _ in 0..<2 { #expect(await reason { _ = try await bench.complete(link, code) } == "revoked") }
        #expect(try await bench.database.users(UserFilter(), after: nil, limit: 10).items.isEmpty)
    }

    @Test("an identity of a former team does not complete a link", arguments: LinkKind.allCases)
    func teamChanged(kind: LinkKind) async throws {
        let link = try await bench.link(kind: kind)
        let code = try await bench.authorize(link)
        let other = try bench.restarted(team: Self.otherTeam)
        for _ in 0..<2 { #expect(await reason { _ = try await other.complete(link, code) } == "link_ended") }
        #expect(try await other.row(link.id).failure == "team_changed")
        #expect(try await other.user() == nil)
        #expect(try other.dump().isEmpty)
    }

    @Test("an identity of a former team can neither connect an account nor sign up")
    func teamChangedWhileWaiting() async throws {
        let bench = try LinkBench(asksExisting: true)
        guard case .asksExisting(let person) = await bench.signInWithApple() else { throw Unexpected() }
        let other = try bench.restarted(asksExisting: true, team: Self.otherTeam)
        let binding = BindingCookie.value(other.browser)
        #expect(
            await reason { _ = try await other.signIn.ticket(ofWaiting: person.id, binding: binding) }
                == "link_expired")
        #expect(
            await reason {
                _ = try await other.signIn.signUp(waiting: person.id, binding: binding, device: other.device)
            } == "link_expired")
        #expect(try other.dump().isEmpty)
    }

    @Test("after a change of the sealing key an identical request still has the same code, and the code completes")
    func survivesKeyChange() async throws {
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        let rotated = try bench.restarted(SealingKeyring(current: .generate(), previous: [Bench.key]))
        #expect(try await rotated.authorize(link).reveal() == code.reveal())
        #expect(try await rotated.complete(link, code).externalID == "account-1")
        #expect(try await rotated.authorize(link).reveal() == code.reveal())
    }

    @Test("a resealed waiting link can be completed without the old key")
    func resealed() async throws {
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        let new = SealingKey.generate()
        let rotated = try bench.restarted(SealingKeyring(current: new, previous: [Bench.key]))
        let report = try #require(await rotated.database.reseal(rotated.keyring, clock: bench.clock))
        #expect(report.isComplete && report.unreadable.isEmpty && report.tokens == 1)
        let alone = try rotated.restarted(SealingKeyring(current: new, previous: []))
        #expect(try await alone.complete(link, code).externalID == "account-1")
        #expect(try await alone.eventLines() == ["account.upgraded \(link.id)"])
    }

    @Test("an identity that no key opens does not complete a link")
    func keyIsGone() async throws {
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        let new = SealingKey.generate()
        let alone = try bench.restarted(SealingKeyring(current: new, previous: [Bench.key]))
            .restarted(SealingKeyring(current: new, previous: []))
        for _ in 0..<2 { #expect(await reason { _ = try await alone.complete(link, code) } == "link_ended") }
        #expect(try await alone.row(link.id).failure == "unreadable")
        #expect(try await alone.user() == nil)
    }

    @Test("a deletion revokes both the link's token and the earlier one", arguments: [false, true])
    func deletionTellsApple(isKnown: Bool) async throws {
        if isKnown { _ = await bench.signInWithApple() }
        let user = try await bench.linked()
        let tokens = try bench.dump().filter { $0.hasPrefix("apple_credential") }.count
        #expect(tokens == (isKnown ? 2 : 1))
        #expect(try await bench.database.deleteUser(user.id, at: bench.now) == .deleted(revocations: tokens))
    }

    @Test("the name of a refused link's consent is not lost")
    func keepsName() async throws {
        _ = try await bench.linked("account-1", "owner")
        let link = try await bench.link()
        let code = try await bench.authorize(link, given: "Ann")
        #expect(await reason { _ = try await bench.complete(link, code) } == "account-already-linked")
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw Unexpected() }
        #expect(try await bench.database.user(session.user)?.name == PersonName(given: "Ann"))
    }

    @Test(
        "maintenance looks links up by index", .onSQLite,
        arguments: [
            (
                """
                SELECT id FROM account_link WHERE expires_at <= 1 AND ended_at IS NULL ORDER BY expires_at LIMIT 200
                """, "account_link_end (expires_at<?)"
            ),
            ("SELECT id FROM account_link WHERE ended_at <= 1 LIMIT 200", "account_link_ended (ended_at<?)"),
        ])
    func usesIndexes(query: String, expected: String) async throws {
        let (plan, partial) = try bench.bench.stranger().read { connection in
            (
                try connection.rows("EXPLAIN QUERY PLAN \(query)").map { $0["detail"].text ?? "" },
                try connection.texts(
                    "SELECT name FROM pragma_index_list('account_link') WHERE partial = 1")
            )
        }
        // What has ended is in the one alone, what has not in the other.
        #expect(partial.contains { expected.hasPrefix("\($0) ") })
        #expect(plan.count == 1 && plan.allSatisfy { $0.hasPrefix("SEARCH") && $0.contains(expected) }, "\(plan)")
    }
}
