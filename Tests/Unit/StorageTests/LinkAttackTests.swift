import Crypto
import Gates
import Storage
import Testing

@testable import Accounts

/// Each attack on links by its name, and why it comes to nothing.
@Suite struct LinkAttackTests {
    /// The other way round: the attacker's Apple identity at the victim's link. Apple's answer belongs to the browser
    /// whose attempt it was, and the attacker's browser cannot post into the victim's.
    @Test func forcedAnswer() async throws {
        let bench = try LinkBench()
        let link = try await bench.link("victims-account")
        let attacker = BrowserBinding.make(random: SystemRandom())
        let attempt = try await bench.begin(link, attacker)
        guard case .failed(Failure(.wrongBrowser), _, _?) = await bench.post(bench.form(attempt, "attacker"))
        else { throw Unexpected() }
        #expect(try await bench.row(link.id).state == .open)
        #expect(bench.apple.exchanged.isEmpty)
    }

    /// Two links of one account, completed at once at two servers, with two identities or with one: the account is tied
    /// once, to whoever was first. Two of one identity both say so.
    @Test(arguments: [("ann", "eve"), ("ann", "ann")])
    func raceOfTwoLinks(first: String, second: String) async throws {
        for _ in 0..<5 {
            let bench = try LinkBench()
            let other = try bench.beside()
            let (one, two) = (try await bench.link(kind: .upgrade), try await bench.link(kind: .upgrade))
            let codes = (try await bench.authorize(one, first), try await bench.authorize(two, second))
            async let here = reason { _ = try await bench.complete(one, codes.0) }
            async let there = reason { _ = try await other.complete(two, codes.1) }
            let outcomes = await [here, there].sorted()
            let done = try await bench.database.links(in: [.done], after: nil, limit: 10).items.map(\.id)
            if first == second {
                #expect(outcomes == ["ok", "ok"])
                #expect(Set(done) == [one.id, two.id])
            } else {
                #expect(outcomes == ["account-already-linked", "ok"])
                #expect(done.count == 1)
            }
            // Each that was completed is told of, once.
            #expect(try await bench.eventLines().sorted() == done.map { "account.upgraded \($0)" }.sorted())
            let users = try await bench.database.users(UserFilter(), after: nil, limit: 10).items
            #expect(users.map(\.externalID) == ["account-1"])
            other.database.close()
        }
    }
}
