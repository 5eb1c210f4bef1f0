import Coding
import Crypto
import Gates
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// Links by ticket: begun by the application, authorized by Apple's answer, completed by the application's backend.
@Suite struct LinkTicketTests {
    private let bench: LinkBench

    init() throws { bench = try LinkBench() }

    @Test("a completed link keeps its owner until it is deleted")
    func keepsWhose() async throws {
        let link = try await bench.link()
        let user = try await bench.complete(link, try await bench.authorize(link))
        let row = try await bench.row(link.id)
        #expect(row.state == .done && row.displayName == nil && row.sealedIdentity == nil)
        #expect(row.externalID == "account-1" && row.team == Bench.team && row.subject == AppleSubject("ann"))
        #expect(row.user == user.id && row.endedAt == bench.now)
        bench.clock.advance(seconds: RetentionPolicy.links)
        #expect(try await bench.database.maintain(at: bench.now).links == 1)
        #expect(try await bench.database.link(link.id) == nil)
    }

    @Test(
        "the code goes after the query and before the fragment",
        arguments: [
            ("/notes", "/notes?link="), ("/notes?a=b", "/notes?a=b&link="), ("/notes?", "/notes?link="),
            ("/notes#top", "/notes?link="), ("/notes?a=b#top", "/notes?a=b&link="),
        ])
    func buildsLocation(returnTo: String, expected: String) async throws {
        let link = try await bench.link(returnTo: returnTo)
        let attempt = try await bench.begin(link)
        guard case .linkAuthorized(let location) = await bench.post(bench.form(attempt)) else {
            throw Unexpected("not authorized")
        }
        #expect(location.hasPrefix(expected + "lnk_"))
        #expect(location.hasSuffix("#top") == returnTo.hasSuffix("#top"))
    }

    @Test(
        "the application vouches for its users: new ones are active under every rule for sign-ups",
        arguments: SignUpPolicy.allCases)
    func ignoresSignUp(policy: SignUpPolicy) async throws {
        let bench = try LinkBench(signUp: policy)
        #expect(try await bench.linked().state == .active)
        #expect(try await bench.linked("account-2", "bob", kind: .upgrade).state == .active)
    }

    @Test("a link neither creates nor replaces the browser's session")
    func keepsTheSession() async throws {
        guard case .signedIn(_, let session, _) = await bench.signInWithApple("bob") else { throw Unexpected() }
        let link = try await bench.link(kind: .upgrade)
        guard case .linkAuthorized(let location) = await bench.post(bench.form(try await bench.begin(link))) else {
            throw Unexpected()
        }
        let code = try #require(location.split(separator: "code=").last.map(String.init))
        let user = try await bench.signIn.completeLink(link.id, code: code, apiKey: LinkBench.apiKey)
        #expect(try await bench.database.sessions(of: user.id, at: bench.now).isEmpty)
        #expect(try await bench.database.sessions(of: session.user, at: bench.now).map(\.id) == [session.id])
    }

    @Test("five wrong codes end the link; four do not")
    func countsWrongCodes() async throws {
        for (wrong, expected) in [(4, "ok"), (5, "link_ended")] {
            let bench = try LinkBench()
            let link = try await bench.link()
            let code = try await bench.authorize(link)
            for number in 0..<wrong {
                let guess = LinkCode.make(random: SystemRandom()).reveal()
                #expect(
                    await reason {
                        _ = try await bench.signIn.completeLink(
                            link.id, code: number == 0 ? "" : guess, apiKey: LinkBench.apiKey)
                    } == "code_invalid")
            }
            #expect(await reason { _ = try await bench.complete(link, code) } == expected)
            #expect(try await bench.user() == nil || expected == "ok")
        }
    }

    @Test("a link expires after exactly ten minutes; a completed one can be repeated for longer")
    func expires() async throws {
        let (early, late, done) = (try await bench.link("a"), try await bench.link("b"), try await bench.link("c"))
        let code = try await bench.authorize(late, "bob")
        let doneCode = try await bench.authorize(done, "eve")
        let user = try await bench.complete(done, doneCode)
        bench.clock.advance(milliseconds: 599_999)
        _ = try await bench.signIn.link(early.id)
        bench.clock.advance(milliseconds: 1)
        #expect(await reason { _ = try await bench.signIn.link(early.id) } == "link_expired")
        #expect(await reason { _ = try await bench.authorize(early) } == "link_expired")
        #expect(await reason { _ = try await bench.complete(late, code) } == "link_expired")
        #expect(
            await reason { _ = try await bench.begin(early) } == "link_expired")
        #expect(try await bench.complete(done, doneCode) == user)
        let report = try await bench.database.maintain(at: bench.now)
        #expect(report.links == 0)
        #expect(try await bench.row(late.id).sealedIdentity == nil)
        #expect(await reason { _ = try await bench.complete(late, code) } == "link_expired")
        bench.clock.advance(seconds: RetentionPolicy.links)
        #expect(try await bench.database.maintain(at: bench.now).links == 3)
        #expect(await reason { _ = try await bench.complete(late, code) } == "link_unknown")
    }

    @Test("a request that read the link before an identical one ended is given the same link")
    func readsTheLinkAgain() async throws {
        let link = try await bench.link()
        let early = try await bench.row(link.id)
        _ = try await bench.authorize(link)
        let request = bench.request(link.nonce, "ann", code: "code-ann-\(link.id)")
        let after = try await bench.signIn.authorize(early, request, device: bench.device)
        #expect(after.state == .authorized)
        #expect(bench.apple.exchanged.count == 1)
    }

    @Test("after an outage of Apple the same request succeeds; after a lost answer a new link is needed")
    func survivesApple() async throws {
        let link = try await bench.link()
        bench.apple.fail(with: Failure(.clientRefused, "invalid_client"))
        #expect(await reason { _ = try await bench.authorize(link, code: "code-x", given: "Ann") } == "client_refused")
        bench.apple.fail(with: nil)
        // A code that Apple certainly did not redeem; the stand-in remembers it, so another one.
        let code = try await bench.authorize(link, code: "code-y")
        let user = try await bench.complete(link, code)
        // The name was safe before Apple was asked.
        #expect(user.name == PersonName(given: "Ann"))
        let second = try await bench.link("b")
        bench.apple.fail(with: Failure(.providerUnavailable, "closed", mayHaveSpentCode: true))
        #expect(await reason { _ = try await bench.authorize(second, "bob") } == "provider_unavailable")
        bench.apple.fail(with: nil)
        #expect(await reason { _ = try await bench.authorize(second, "bob") } == "code_refused")
    }

    @Test("only the first opening of a link is written", .onSQLite)
    func openingWritesOnce() async throws {
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
                _ = try await bench.signIn.beginLink(link.id, binding: .make(random: SystemRandom()))
            } == "wrong_browser")
        #expect(try await version() == opened)
    }
}
