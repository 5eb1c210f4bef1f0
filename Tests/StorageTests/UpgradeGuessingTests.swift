import Coding
import Crypto
import LogRecording
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// Attacks on passwords and second factors by way of upgrades: what is counted, and what is not.
@Suite struct UpgradeGuessingTests {
    private func challenged(_ bench: LinkBench) async throws -> UpgradeStart {
        let answer = try await bench.linking.startUpgrade(username: "ann", password: bench.password("correct horse"))
        guard case .twoFactorAuthRequired(let start, _) = answer else { throw LinkBench.Unexpected() }
        return start
    }

    /// Each right password begins an upgrade with five tries of its own.
    @Test("whoever knows the password guesses ten codes in a quarter of an hour, over however many upgrades")
    func codesOverManyUpgrades() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        var starts: [UpgradeStart] = []
        for _ in 0..<20 { starts.append(try await challenged(bench)) }
        var reasons: Set<String> = []
        for start in starts {
            for number in 0..<LinkLimits.tries {
                reasons.insert(
                    await reason {
                        _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "00000\(number)")
                    })
            }
        }
        #expect(bench.application.get { $0.codes.count } == 10)
        #expect(reasons == ["ok", "too_many_requests"])
        // The right one helps no more, and neither does another upgrade.
        #expect(
            await reason {
                _ = try await bench.linking.secondFactor(starts[19].id, token: starts[19].token, code: "123456")
            } == "too_many_requests")
        #expect(await reason { _ = try await challenged(bench) } == "too_many_requests")
        bench.clock.advance(seconds: 900)
        let start = try await challenged(bench)
        guard case .success = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456") else {
            throw LinkBench.Unexpected()
        }
    }

    @Test("wrong passwords are counted together, whichever server they reach, for a quarter of an hour each")
    func onSeveralServers() async throws {
        let first = try LinkBench()
        let second = try LinkBench(first.bench, keyring: first.keyring, application: first.application)
        first.account()
        for number in 0..<10 {
            let server = number.isMultiple(of: 2) ? first : second
            guard case .failure = try await server.linking.startUpgrade(username: "Ann", password: first.password("x"))
            else { throw LinkBench.Unexpected() }
            first.clock.advance(seconds: 60)
        }
        for server in [first, second] {
            await #expect(throws: LinkFailure.tooMany(retryAfter: 300)) {
                _ = try await server.linking.startUpgrade(username: "ann", password: first.password("correct horse"))
            }
        }
        guard case .failure = try await second.linking.startUpgrade(username: "bob", password: first.password("x"))
        else {
            throw LinkBench.Unexpected()
        }
        first.clock.advance(seconds: 300)
        guard case .failure = try await second.linking.startUpgrade(username: "ann", password: first.password("x"))
        else {
            throw LinkBench.Unexpected()
        }
        await #expect(throws: LinkFailure.tooMany(retryAfter: 60)) {
            _ = try await first.linking.startUpgrade(username: "ann", password: first.password("correct horse"))
        }
    }

    @Test("tries in one moment are each counted, each can be restored, and a clock set back frees the name")
    func oneMoment() async throws {
        let bench = try LinkBench()
        let (store, name, now) = (bench.database, Digest256(words: (1, 2, 3, 4)), bench.clock.now())
        var moments: [Timestamp] = []
        for _ in 0..<3 {
            guard case .counted(let moment) = try await store.countTry(of: name, maximum: 3, at: now) else {
                throw LinkBench.Unexpected()
            }
            moments.append(moment)
        }
        #expect(Set(moments).count == 3)
        let end = now.adding(seconds: RetentionPolicy.usernameTries)
        #expect(try await store.countTry(of: name, maximum: 3, at: now) == .refused(until: end))
        for _ in 0..<2 { try await store.restoreTry(of: name, at: moments[1]) }
        guard case .counted = try await store.countTry(of: name, maximum: 3, at: now) else {
            throw LinkBench.Unexpected()
        }
        #expect(try await store.countTry(of: name, maximum: 3, at: now) == .refused(until: end))
        let before = now.adding(seconds: -2 * RetentionPolicy.usernameTries)
        #expect(try await store.countTry(of: name, maximum: 3, at: before) == .counted(before))
        _ = try await store.maintain(at: end.adding(milliseconds: 10))
        guard case .counted = try await store.countTry(of: name, maximum: 1, at: end.adding(milliseconds: 10)) else {
            throw LinkBench.Unexpected()
        }
    }

    @Test("what is right costs nothing, however often")
    func rightOnesAreFree() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        for _ in 0..<30 {
            let start = try await challenged(bench)
            guard case .success = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456")
            else { throw LinkBench.Unexpected() }
        }
    }

    @Test("while the verifier is down, nobody's tries are used up")
    func outagesAreFree() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        let start = try await challenged(bench)
        bench.application.set { $0.failure = .unavailable("timed out") }
        for _ in 0..<30 {
            #expect(await reason { _ = try await challenged(bench) } == "verifier_unavailable")
            #expect(
                await reason {
                    _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456")
                } == "verifier_unavailable")
        }
        bench.application.set { $0.failure = nil }
        for _ in 0..<(LinkLimits.tries - 1) {
            guard case .failure = try await bench.linking.secondFactor(start.id, token: start.token, code: "0") else {
                throw LinkBench.Unexpected()
            }
        }
        guard case .success = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456") else {
            throw LinkBench.Unexpected()
        }
    }

    @Test("the operator sees that somebody guesses, and not at whom")
    func isLogged() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        let start = try await challenged(bench)
        _ = try await bench.linking.startUpgrade(username: "ann", password: bench.password("wrong"))
        _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "000000")
        let lines = bench.log.lines
        #expect(lines.contains { $0.contains("upgrade refused: wrong password") })
        #expect(lines.contains { $0.contains("upgrade refused: wrong code") && $0.contains(start.id.rawValue) })
        #expect(!lines.contains { $0.contains("ann") || $0.contains("000000") })
    }

    @Test("a link is written to when a browser opens it, and not when that browser looks again", .onSQLite)
    func looksWriteOnce() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let stranger = try bench.bench.stranger()
        func version() async throws -> Int? {
            try stranger.read { connection in
                // Looks at the file: without it the connection would not notice what others have written.
                _ = try connection.integer("SELECT count(*) FROM account_link")
                return try connection.integer("PRAGMA data_version")
            }
        }
        let unopened = try await version()
        _ = try await bench.begin(link)
        let opened = try await version()
        #expect(opened != unopened)
        for _ in 0..<3 { _ = try await bench.begin(link) }
        #expect(
            await reason {
                _ = try await bench.linking.beginLink(link.id, binding: .make(random: SystemRandom()))
            } == "wrong_browser")
        #expect(try await version() == opened)
    }
}
