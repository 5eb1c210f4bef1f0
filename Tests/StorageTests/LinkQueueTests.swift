import Coding
import Crypto
import LogRecording
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// The queue of conversions, and what a restart with another configuration makes of links.
@Suite struct LinkQueueTests {
    private func seconds(_ bench: LinkBench, _ start: UpgradeStart) async throws -> Int64 {
        let next = try #require(try await bench.row(LinkKey(start.id)).nextAttemptAt)
        return (next.milliseconds - bench.now.milliseconds) / 1_000
    }

    @Test("requests that come again and again neither count nor hold up the job")
    func impatientClient() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        bench.application.set { $0.answers = Array(repeating: .failure(.unavailable("HTTP 503")), count: 100) }
        func asks() async throws {
            do throws(LinkFailure) {
                _ = try await bench.finish(start)
            } catch {
                #expect(error == .conversionFailed(retryAfter: 5))
            }
        }
        for _ in 0..<10 {
            bench.clock.advance(milliseconds: 100)
            try await asks()
        }
        #expect(try await bench.row(LinkKey(start.id)).attempts == 0)
        #expect(try await seconds(bench, start) == 4)
        // The job keeps its own time, however many come in between.
        let job = bench.job()
        for pause: Int64 in [5, 20, 80] {
            bench.clock.advance(seconds: try await seconds(bench, start) + 1)
            await job.round()
            #expect(try await seconds(bench, start) == pause)
            try await asks()
            #expect(try await seconds(bench, start) == pause)
        }
        #expect(try await bench.row(LinkKey(start.id)).attempts == 3)
    }

    @Test("a request while the user is shut out does not count either")
    func impatientWhileShutOut() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        let user = try #require(try await bench.user())
        _ = try await bench.database.patchUser(user.id, UserPatch(state: .disabled), at: bench.now)
        for _ in 0..<10 {
            #expect(await reason { _ = try await bench.finish(start) } == "conversion-failed")
        }
        #expect(try await bench.row(LinkKey(start.id)).attempts == 0)
        #expect(try await seconds(bench, start) == 5)
    }

    @Test(
        "maintenance looks links up by index", .onSQLite,
        arguments: [
            (
                """
                SELECT id FROM account_link WHERE expires_at <= 1 AND ended_at IS NULL AND state <> 'converting'
                ORDER BY expires_at LIMIT 200
                """, "account_link_end (expires_at<?)"
            ),
            (
                "SELECT id FROM account_link WHERE ended_at <= 1 LIMIT 200",
                "account_link_ended (ended_at<?)"
            ),
        ])
    func usesIndexes(query: String, expected: String) async throws {
        let bench = try LinkBench()
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

    @Test("without a verifier no upgrade is committed; with one again, the same request completes it")
    func verifierIsGone() async throws {
        let bench = try LinkBench()
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        let without = try bench.restarted(hasVerifier: false)
        #expect(await reason { _ = try await without.complete(link, code) } == "upgrades_not_configured")
        #expect(try await without.row(LinkKey(link.id)).state == .authorized)
        #expect(try await without.user() == nil)
        let with = try without.restarted()
        #expect(try await with.complete(link, code).externalID == "account-1")
    }

    @Test("conversions wait and nobody may ask: said once")
    func warnsWithoutVerifier() async throws {
        let bench = try LinkBench()
        _ = try await bench.linked("account-2", "bob")
        let quiet = try bench.restarted(hasVerifier: false)
        await quiet.job().round()
        #expect(!quiet.log.lines.contains { $0.contains("upgrade.verifierURL is not set") })
        let asking = try quiet.restarted()
        _ = try await asking.converting()
        let without = try asking.restarted(hasVerifier: false)
        let job = without.job()
        for _ in 0..<3 {
            without.clock.advance(seconds: 60)
            await job.round()
        }
        #expect(
            without.log.lines.count { $0.hasPrefix("warning conversions waiting, but upgrade.verifierURL is not set") }
                == 1)
    }

    @Test("an identity of the team before completes nothing", arguments: LinkKind.allCases)
    func teamChanged(kind: LinkKind) async throws {
        let bench = try LinkBench()
        let link = try await bench.link(kind: kind)
        let code = try await bench.authorize(link)
        let other = try bench.restarted(team: TeamID("OTHER12345"))
        for _ in 0..<2 { #expect(await reason { _ = try await other.complete(link, code) } == "link_ended") }
        #expect(try await other.row(LinkKey(link.id)).failure == "team_changed")
        #expect(try await other.user() == nil)
        #expect(try other.dump().isEmpty)
        #expect(other.application.conversions.isEmpty)
    }

    @Test("an identity of the team before waits for nobody's answer", arguments: ExistingAccountChoice.allCases)
    func teamChangedWhileWaiting(choice: ExistingAccountChoice) async throws {
        let bench = try LinkBench(asksExisting: true)
        guard case .asksExisting(let person) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        let other = try bench.restarted(asksExisting: true, team: TeamID("OTHER12345"))
        #expect(
            await reason {
                _ = try await other.signIn.answerExisting(
                    person.id, choice, binding: .value(other.browser), device: other.device)
            } == "link_expired")
        #expect(try other.dump().isEmpty)
    }

    @Test("a conversion of the team before is finished for its own identity")
    func teamChangedWhileConverting() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        let other = try bench.restarted(team: TeamID("OTHER12345"))
        #expect(try await other.finish(start).signedIn.user.externalID == "account-1")
        #expect(try other.dump().count { $0.hasPrefix("apple_identity") } == 1)
    }

    @Test("a second try while one's own conversion waits is told that it goes on")
    func secondTry() async throws {
        let bench = try LinkBench()
        _ = try await bench.converting()
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        for _ in 0..<2 {
            do throws(LinkFailure) {
                _ = try await bench.complete(link, code)
                #expect(Bool(false))
            } catch {
                #expect(error == .conversionFailed(retryAfter: 5))
            }
        }
        #expect(try await bench.row(LinkKey(link.id)).failure == "conversion_pending")
        #expect(bench.application.conversions.count == 1)
        // Somebody else's try at the same account is refused as ever.
        #expect(try await bench.failure("account-1", "eve", kind: .upgrade) == .accountAlreadyLinked)
    }
}
