import Coding
import Crypto
import Gates
import LogRecording
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// Between the commit and `done`: the application is asked until it answers, and whatever happens meanwhile nobody is
/// without a way in.
@Suite struct LinkConversionTests {
    private static let down = Result<ConversionAnswer, VerifierFailure>.failure(.unavailable("HTTP 503"))

    @Test("killed after the commit: the next process asks with the same id, and makes the planned session")
    func killed() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        bench.application.gate.shut()
        async let lost = reason { _ = try await bench.finish(start) }
        await bench.application.gate.arrived(1)
        // The person has Apple already, and the password still.
        #expect(try await bench.user()?.externalID == "account-1")
        #expect(bench.application.get { $0.converted.isEmpty })
        let next = try bench.beside()
        #expect(await reason { _ = try await next.finish(start) } == "conversion-failed")
        await next.job().round()
        #expect(bench.application.conversions.count == 1)
        bench.clock.advance(seconds: 30)
        let job = next.job()
        async let round: Void = job.round()
        await bench.application.gate.arrived(2)
        bench.application.gate.open()
        await round
        #expect(bench.application.conversions.count == 2)
        #expect(Set(bench.application.conversions.map(\.attemptID)) == [LinkKey(start.id)])
        #expect(await lost == "ok")
        let (token, signedIn) = try await next.finish(start)
        #expect(try await next.database.signedIn(token: token.hash, at: next.now) == signedIn)
        #expect(try await next.events() == ["user.created", "session.created", "account.upgraded"])
        bench.database.close()
    }

    @Test("the database closed between converting and done, opened again: the job finishes it")
    func reopened() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down] }
        let start = try await bench.upgrade()
        #expect(await reason { _ = try await bench.finish(start) } == "conversion-failed")
        let next = try bench.restarted()
        #expect(try await next.row(LinkKey(start.id)).state == .converting)
        await next.job().round()
        #expect(bench.application.conversions.count == 1)
        next.clock.advance(seconds: 5)
        await next.job().round()
        #expect(try await next.row(LinkKey(start.id)).state == .done)
        #expect(try await next.finish(start).signedIn.user.externalID == "account-1")
        #expect(bench.application.conversions.count == 2)
    }

    @Test("down for a day: asked ever more rarely, up to every six hours, and never given up")
    func backsOff() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = Array(repeating: Self.down, count: 12) }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let job = bench.job()
        var pauses: [Int64] = []
        for _ in 0..<9 {
            let row = try await bench.row(LinkKey(start.id))
            let pause = try #require(row.nextAttemptAt).milliseconds - bench.now.milliseconds
            pauses.append(pause / 1_000)
            let before = bench.application.conversions.count
            bench.clock.advance(milliseconds: pause - 1)
            await job.round()
            #expect(bench.application.conversions.count == before)
            bench.clock.advance(milliseconds: 1)
            await job.round()
            #expect(bench.application.conversions.count == before + 1)
        }
        // The first was the person's own request.
        #expect(pauses == [5, 5, 20, 80, 320, 1_280, 5_120, 21_600, 21_600])
        _ = try await bench.database.maintain(at: bench.now)
        let row = try await bench.row(LinkKey(start.id))
        #expect(row.state == .converting && row.externalID == "account-1" && row.attempts == 9)
        // The operator need not wait.
        bench.application.set { $0.answers = [] }
        #expect(try await bench.database.retryConversions(LinkKey(start.id), at: bench.now) == 1)
        await job.round()
        #expect(try await bench.row(LinkKey(start.id)).state == .done)
        // Its life was over long ago: no session; the person signs in with Apple.
        #expect(try await bench.events() == ["user.created", "account.upgraded"])
        #expect(await reason { _ = try await bench.finish(start) } == "link_completed")
        guard case .signedIn = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
    }

    @Test("a 5xx, then the same request again: asked at once, and answered as if nothing had been")
    func retriedByClient() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down, Self.down] }
        let start = try await bench.upgrade()
        do throws(LinkFailure) {
            _ = try await bench.finish(start)
        } catch {
            #expect(error == .conversionFailed(retryAfter: 5))
        }
        do throws(LinkFailure) {
            _ = try await bench.finish(start)
        } catch {
            #expect(error == .conversionFailed(retryAfter: 5))
        }
        #expect(try await bench.finish(start).signedIn.user.externalID == "account-1")
        #expect(bench.application.conversions.count == 3)
    }

    // MARK: 409

    /// What there was before the link.
    enum Before: String, CaseIterable, Sendable {
        case nobody, nobodyWithName, user, userOfAnotherAccount, owner

        func prepare(_ bench: LinkBench) async throws {
            switch self {
            case .nobody: break
            case .nobodyWithName:
                try await bench.database.saveFirstConsent(
                    team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: "Ann", family: "Lee"),
                    at: bench.now)
            case .user: _ = await bench.signInWithApple()
            case .userOfAnotherAccount:
                _ = try await bench.linked("account-9", "bob")
                _ = await bench.signInWithApple()
            case .owner: _ = try await bench.linked("account-1", "bob")
            }
        }
    }

    @Test("409: everything is as it was, compared row by row, and the password still works", arguments: Before.allCases)
    func undoes(before: Before) async throws {
        let bench = try LinkBench()
        bench.account()
        try await before.prepare(bench)
        // Who was there before has consented once more, and that stays.
        let isKnown = before == .user || before == .userOfAnotherAccount
        let dump = try bench.dump(consents: !isKnown)
        bench.clock.advance(seconds: 60)
        bench.application.set { $0.answers = [.success(.refused)] }
        let link = try await bench.link(kind: .upgrade, mayReplace: before == .owner)
        let code = try await bench.authorize(link)
        bench.application.gate.shut()
        async let answer = reason { _ = try await bench.complete(link, code) }
        await bench.application.gate.arrived(1)
        #expect(try bench.dump(consents: !isKnown) != dump)
        bench.application.gate.open()
        #expect(await answer == "conversion-failed")
        #expect(try bench.dump(consents: !isKnown) == dump)
        #expect(await reason { _ = try await bench.complete(link, code) } == "conversion-failed")
        #expect(bench.application.conversions.count == 1)
        let row = try await bench.row(LinkKey(link.id))
        #expect(row.state == .failed && row.externalID == nil && row.sealedIdentity == nil && row.user == nil)
        #expect(bench.log.lines.contains { $0.hasPrefix("error conversion refused") })
        // Another try is a new one.
        if before != .owner {
            #expect(try await bench.linked(kind: .upgrade).externalID == "account-1")
        }
        // Whoever was told of the user is told of the end.
        let told = try await bench.events()
        #expect(told.count { $0.hasPrefix("account.deleted") } == (isKnown ? 0 : 1))
    }

    @Test("a name given at this very consent is not lost with a refused link")
    func keepsName() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [.success(.refused)] }
        let start = try await bench.upgrade()
        #expect(await reason { _ = try await bench.finish(start, given: "Ann") } == "conversion-failed")
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        #expect(try await bench.database.user(session.user)?.name == PersonName(given: "Ann"))
    }

    @Test("signed in meanwhile: a 409 takes the account away, not the person")
    func undoLeavesWhoSignedIn() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down, .success(.refused)] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        let user = try #require(try await bench.user())
        #expect(session.user == user.id)
        #expect(await reason { _ = try await bench.finish(start) } == "conversion-failed")
        #expect(try await bench.database.user(user.id)?.externalID == nil)
        #expect(try await bench.database.sessions(of: user.id, at: bench.now).map(\.id) == [session.id])
    }

    @Test("what the application has changed of the user meanwhile is not undone")
    func undoLeavesOthersChanges() async throws {
        let bench = try LinkBench()
        bench.account()
        _ = await bench.signInWithApple()
        bench.application.set { $0.answers = [Self.down, .success(.refused)] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let user = try #require(try await bench.user())
        _ = try await bench.database.patchUser(
            user.id, UserPatch(externalID: "renamed", groups: ["staff"]), at: bench.now)
        _ = await reason { _ = try await bench.finish(start) }
        let after = try await bench.database.user(user.id)
        #expect(after?.externalID == "renamed" && after?.groups == ["staff"])
    }

    // MARK: Answers twice, and people who go

    @Test(
        "answering twice, in whatever way: the first answer counts",
        arguments: [(ConversionAnswer.converted, ConversionAnswer.refused), (.refused, .converted)])
    func answersTwice(first: ConversionAnswer, second: ConversionAnswer) async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let key = LinkKey(start.id)
        func apply(_ answer: ConversionAnswer) async throws -> LinkState? {
            switch answer {
            case .converted:
                try await bench.database.finishLink(
                    LinkFinish(key: key, record: nil, makesSession: false, now: bench.now))?.state
            case .refused: try await bench.database.undoLink(key, at: bench.now)?.state
            }
        }
        let expected: LinkState = first == .converted ? .done : .failed
        #expect(try await apply(first) == expected)
        let (dump, events) = (try bench.dump(), try await bench.events())
        for answer in [second, first, second] { #expect(try await apply(answer) == expected) }
        #expect(try bench.dump() == dump)
        #expect(try await bench.events() == events)
        #expect(try await bench.user()?.externalID == (first == .converted ? "account-1" : nil))
    }

    @Test("deleted while converting: the link's rows go, nothing is asked afterwards")
    func deletedMeanwhile() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let user = try #require(try await bench.user())
        _ = try await bench.database.deleteUser(user.id, at: bench.now)
        bench.clock.advance(seconds: 86_400)
        await bench.job().round()
        #expect(bench.application.conversions.count == 1)
        #expect(await reason { _ = try await bench.finish(start) } == "link_unknown")
        #expect(try await bench.database.links(in: [], after: nil, limit: 10).isEmpty)
    }

    @Test(
        "deleted while the application is being asked: its answer makes nothing",
        arguments: [ConversionAnswer.converted, .refused])
    func deletedInFlight(answer: ConversionAnswer) async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [.success(answer)] }
        let start = try await bench.upgrade()
        bench.application.gate.shut()
        async let outcome = reason { _ = try await bench.finish(start) }
        await bench.application.gate.arrived(1)
        let user = try #require(try await bench.user())
        _ = try await bench.database.deleteUser(user.id, at: bench.now)
        let dump = try bench.dump()
        bench.application.gate.open()
        #expect(await outcome == "link_unknown")
        #expect(try bench.dump() == dump)
    }

    @Test("deleted while an identity waits for the code: it waits no more")
    func deletedWhileAuthorized() async throws {
        let bench = try LinkBench()
        _ = await bench.signInWithApple()
        let user = try #require(
            try await bench.database.user(team: Bench.team, subject: AppleSubject("ann")))
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        _ = try await bench.database.deleteUser(user.id, at: bench.now)
        #expect(await reason { _ = try await bench.complete(link, code) } == "link_unknown")
        #expect(try await bench.user() == nil)
    }

    @Test("disabled while the application is being asked: converted, told, and no session")
    func disabledMeanwhile() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        bench.application.gate.shut()
        async let outcome = reason { _ = try await bench.finish(start) }
        await bench.application.gate.arrived(1)
        let user = try #require(try await bench.user())
        _ = try await bench.database.patchUser(user.id, UserPatch(state: .disabled), at: bench.now)
        bench.application.gate.open()
        #expect(await outcome == "user_disabled")
        #expect(await reason { _ = try await bench.finish(start) } == "user_disabled")
        #expect(try await bench.row(LinkKey(start.id)).state == .done)
        #expect(try await bench.database.sessions(of: user.id, at: bench.now).isEmpty)
    }

    @Test("Apple ends the consent before the commit: refused; while converting: converted, without a session")
    func revokedMeanwhile() async throws {
        for isCommitted in [false, true] {
            let bench = try LinkBench()
            bench.account()
            let start = try await bench.upgrade()
            bench.apple.gate.shut()
            bench.application.gate.shut()
            async let outcome = reason { _ = try await bench.finish(start) }
            await bench.apple.gate.arrived(1)
            if isCommitted {
                bench.apple.gate.open()
                await bench.application.gate.arrived(1)
            }
            bench.clock.advance(seconds: 1)
            _ = try await bench.database.apply(
                notification(.consentRevoked, time: bench.now), team: Bench.team, at: bench.now)
            bench.apple.gate.open()
            bench.application.gate.open()
            #expect(await outcome == "revoked")
            #expect(bench.application.conversions.count == (isCommitted ? 1 : 0))
            #expect(try await bench.user()?.externalID == (isCommitted ? "account-1" : nil))
            #expect(try bench.dump().filter { $0.hasPrefix("session") }.isEmpty)
        }
    }

    @Test("two processes run the job: each conversion is asked by one")
    func holdsLease() async throws {
        let bench = try LinkBench()
        bench.application.set { $0.answers = Array(repeating: Self.down, count: 6) }
        for number in 0..<6 {
            #expect(try await bench.failure("account-\(number)", "p\(number)", kind: .upgrade) != nil)
        }
        let other = try bench.beside()
        bench.clock.advance(seconds: 30)
        async let first: Void = bench.job().round()
        async let second: Void = other.job().round()
        _ = await (first, second)
        // Whoever came too late for the lease comes again.
        bench.clock.advance(seconds: 61)
        await other.job().round()
        #expect(bench.application.conversions.count == 12)
        #expect(Set(bench.application.conversions.map(\.attemptID)).count == 6)
        other.database.close()
    }

    @Test("resealed under a new key, a conversion that waits for days ends as it would have")
    func resealed() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [Self.down] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let new = SealingKey.generate()
        let rotated = try bench.restarted(SealingKeyring(current: new, previous: [Bench.key]))
        let report = try await Resealing(store: rotated.database, keyring: rotated.keyring, clock: bench.clock).run()
        #expect(report.isComplete && report.unreadable.isEmpty && report.tokens == 2)
        let alone = try rotated.restarted(SealingKeyring(current: new, previous: []))
        bench.clock.advance(seconds: 60)
        await alone.job().round()
        #expect(try await alone.row(LinkKey(start.id)).state == .done)
        #expect(try await alone.events() == ["user.created", "session.created", "account.upgraded"])
    }

    @Test(
        "nothing is committed, finished or undone without its event", .onSQLite,
        arguments: [ConversionAnswer.converted, .refused])
    func tellsOrDoesNothing(answer: ConversionAnswer) async throws {
        let bench = try LinkBench()
        _ = await bench.signInWithApple()
        let stranger = try bench.bench.stranger()
        let silence = "CREATE TRIGGER silence BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no journal'); END"
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        bench.application.set { $0.answers = [.success(answer), .success(answer)] }
        let before = try bench.dump()
        try stranger.write { try $0.execute(silence) }
        #expect(await reason { _ = try await bench.complete(link, code) } == "storage")
        #expect(try bench.dump() == before)
        try stranger.write { try $0.execute("DROP TRIGGER silence") }
        bench.application.gate.shut()
        async let outcome = reason { _ = try await bench.complete(link, code) }
        await bench.application.gate.arrived(1)
        let committed = try bench.dump()
        try stranger.write { try $0.execute(silence) }
        bench.application.gate.open()
        #expect(await outcome == "storage")
        #expect(try bench.dump() == committed)
        #expect(try await bench.row(LinkKey(link.id)).state == .converting)
        try stranger.write { try $0.execute("DROP TRIGGER silence") }
        // Its claim ends by itself; the job goes on from there.
        bench.clock.advance(seconds: 30)
        await bench.job().round()
        #expect(try await bench.row(LinkKey(link.id)).state == (answer == .converted ? .done : .failed))
    }
}
