import Coding
import Crypto
import Gates
import LogRecording
import MemoryStores
import RelyingParty
import Storage
import Testing

/// The application is asked to drop a password only while Apple opens the account in its place.
@Suite struct LinkWayInTests {
    @Test(
        "the external ID is another's word now: not asked any more, and said loudly",
        arguments: [("account-1", nil), ("account-1", "renamed"), ("caf\u{E9}", "cafe\u{301}")])
    func accountChanged(from: String, to: String?) async throws {
        let bench = try LinkBench()
        let start = try await bench.converting(externalID: from)
        let user = try #require(try await bench.user(from))
        _ = try await bench.database.patchUser(user.id, UserPatch(externalID: .some(to)), at: bench.now)
        await bench.askAgain()
        #expect(bench.application.conversions.count == 1)
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .failed && row.failure == "account_changed" && row.externalID == nil)
        #expect(
            bench.log.lines.count { $0.hasPrefix("error conversion stopped") && $0.contains("may have converted") }
                == 1)
        // What the application changed stays; the same request is told that it came to nothing.
        let after = try await bench.database.user(user.id)?.externalID
        #expect(after.map { Array($0.utf8) } == to.map { Array($0.utf8) })
        #expect(await reason { _ = try await bench.finish(start) } == "conversion-failed")
        #expect(bench.application.conversions.count == 1)
        #expect(try await !bench.events().contains("account.upgraded"))
    }

    @Test("the Apple Account is deleted, and the user kept disabled: not asked")
    func goneAtApple() async throws {
        let bench = try LinkBench(onAccountDeleted: .disable)
        let start = try await bench.converting()
        bench.clock.advance(seconds: 60)
        _ = try await bench.database.apply(
            notification(.accountDeleted, time: bench.now), team: Bench.team, at: bench.now)
        await bench.askAgain()
        await bench.askAgain()
        #expect(bench.application.conversions.count == 1)
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .converting && row.failure == "user_disabled")
        // Enabled, they have no Apple Account for all that.
        let user = try #require(row.user)
        _ = try await bench.database.patchUser(user, UserPatch(state: .active), at: bench.now)
        await bench.askAgain()
        #expect(bench.application.conversions.count == 1)
        #expect(try await bench.row(LinkKey(start.id)).failure == "account_deleted")
    }

    @Test("shut out by the operator: not asked until they are let in", arguments: [User.State.disabled, .pending])
    func shutOut(state: User.State) async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        let user = try #require(try await bench.user())
        _ = try await bench.database.patchUser(user.id, UserPatch(state: state), at: bench.now)
        // Their own request neither: it is told to come again.
        #expect(await reason { _ = try await bench.finish(start) } == "conversion-failed")
        await bench.askAgain()
        #expect(bench.application.conversions.count == 1)
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .converting && row.failure == (state == .disabled ? "user_disabled" : "user_pending"))
        #expect(bench.log.lines.contains { $0.hasPrefix("warning conversion postponed") })
        _ = try await bench.database.patchUser(user.id, UserPatch(state: .active), at: bench.now)
        await bench.askAgain()
        #expect(bench.application.conversions.count == 2)
        #expect(try await bench.row(LinkKey(start.id)).state == .done)
        #expect(try await bench.events().contains("account.upgraded"))
    }

    @Test("the consent is withdrawn: not asked until there is a new one")
    func consentWithdrawn() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        bench.clock.advance(seconds: 60)
        _ = try await bench.database.apply(
            notification(.consentRevoked, time: bench.now), team: Bench.team, at: bench.now)
        await bench.askAgain()
        #expect(bench.application.conversions.count == 1)
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .converting && row.failure == "consent_revoked")
        guard case .signedIn = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        await bench.askAgain()
        #expect(bench.application.conversions.count == 2)
        #expect(try await bench.row(LinkKey(start.id)).state == .done)
    }

    @Test("the external ID goes while the application is being asked: said loudly, and no success")
    func accountChangedInFlight() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        bench.application.gate.shut()
        async let outcome = reason { _ = try await bench.finish(start) }
        await bench.application.gate.arrived(1)
        let user = try #require(try await bench.user())
        _ = try await bench.database.patchUser(user.id, UserPatch(externalID: .some(nil)), at: bench.now)
        bench.application.gate.open()
        #expect(await outcome == "conversion-failed")
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .failed && row.failure == "account_changed")
        #expect(bench.log.lines.contains { $0.hasPrefix("error conversion answered for an account") })
        #expect(try await bench.events() == ["user.created", "user.updated externalID"])
        #expect(try await bench.database.sessions(of: user.id, at: bench.now).isEmpty)
    }
}
