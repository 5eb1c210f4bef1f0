import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// Links by ticket: begun by the application, authorized by Apple's answer, completed by the application's backend.
@Suite struct LinkTicketTests {
    @Test("an app's link makes a user with the external ID, no session, and tells of it; again, the same")
    func linksByApp() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        #expect(link.id.rawValue.hasPrefix("lnk_") && link.ticket.reveal().hasPrefix("brt_"))
        #expect(link.expiresAt == bench.now.adding(seconds: 600))
        let code = try await bench.authorize(link, given: "Ann")
        // Until the backend has seen that it is still its user, nobody is anything.
        #expect(try await bench.user() == nil)
        #expect(try bench.dump().filter { !$0.hasPrefix("first_consent") } == [])
        let user = try await bench.complete(link, code)
        #expect(user.externalID == "account-1")
        #expect(user.name == PersonName(given: "Ann"))
        #expect(try await bench.events() == ["user.created", "account.linked"])
        #expect(try await bench.complete(link, code) == user)
        #expect(try await bench.authorize(link, given: "Ann").reveal() == code.reveal())
        #expect(try await bench.events() == ["user.created", "account.linked"])
        #expect(bench.apple.exchanged.count == 1)
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else {
            Issue.record("the person cannot sign in with Apple")
            return
        }
        #expect(session.user == user.id)
    }

    @Test("of a completed link stays what tells whose it is, until the link is deleted")
    func keepsWhose() async throws {
        let bench = try LinkBench()
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

    @Test("a browser's link leads back with link and code, its own query kept; reloaded, with the same code")
    func linksByBrowser() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let attempt = try await bench.begin(link)
        let form = bench.form(attempt, user: "Ann")
        guard case .linkAuthorized(let location) = await bench.post(form) else {
            Issue.record("not authorized")
            return
        }
        let prefix = "https://app.example.com/linked?tab=1&link=\(link.id)&code=brl_"
        #expect(location.hasPrefix(prefix))
        bench.clock.advance(seconds: 31)
        let next = try bench.restarted()
        guard case .linkAuthorized(let again) = await next.post(form) else {
            Issue.record("a reload is not answered alike")
            return
        }
        #expect(again == location)
        let code = String(location.dropFirst(prefix.utf8.count - 4))
        let user = try await next.signIn.completeLink(link.id, code: code, apiKey: LinkBench.apiKey)
        #expect(user.name == PersonName(given: "Ann"))
        #expect(try await next.database.sessions(of: user.id, at: next.now).isEmpty)
    }

    @Test(
        "the code goes behind the query and before the fragment",
        arguments: [
            ("/notes", "/notes?link="), ("/notes?a=b", "/notes?a=b&link="), ("/notes?", "/notes?link="),
            ("/notes#top", "/notes?link="), ("/notes?a=b#top", "/notes?a=b&link="),
        ])
    func buildsLocation(returnTo: String, expected: String) async throws {
        let bench = try LinkBench()
        let link = try await bench.link(returnTo: returnTo)
        let attempt = try await bench.begin(link)
        guard case .linkAuthorized(let location) = await bench.post(bench.form(attempt)) else {
            Issue.record("not authorized")
            return
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

    @Test("cancelled at Apple: the link waits, and the next trip authorizes it")
    func cancelled() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let first = try await bench.begin(link)
        let cancel = FormEncoder.encode([("state", first.state), ("error", "user_cancelled_authorize")])
        guard case .failed(Failure(.cancelled), _, link.id?) = await bench.post(cancel) else {
            throw LinkBench.Unexpected()
        }
        #expect(try await bench.row(link.id).state == .open)
        let second = try await bench.begin(link)
        guard case .linkAuthorized = await bench.post(bench.form(second)) else { throw LinkBench.Unexpected() }
    }

    @Test("a browser that is signed in keeps its session: a link neither makes nor replaces one")
    func keepsTheSession() async throws {
        let bench = try LinkBench()
        guard case .signedIn(_, let session, _) = await bench.signInWithApple("bob") else {
            throw LinkBench.Unexpected()
        }
        let link = try await bench.link(kind: .upgrade)
        guard case .linkAuthorized(let location) = await bench.post(bench.form(try await bench.begin(link))) else {
            throw LinkBench.Unexpected()
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

    @Test("a link lives for ten minutes, to the millisecond; done, its answer lasts longer")
    func expires() async throws {
        let bench = try LinkBench()
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

    @Test("an app that asks fifty times at once has one code, and the code went to Apple once")
    func joins() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        bench.apple.gate.shut()
        let codes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await bench.authorize(link).reveal() } }
            await bench.apple.gate.arrived(1)
            bench.apple.gate.open()
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(codes.count == 1)
        #expect(bench.apple.exchanged.count == 1)
    }

    @Test("a request that read the link before an identical one ended is given the same link")
    func readsTheLinkAgain() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let early = try await bench.row(link.id)
        _ = try await bench.authorize(link)
        let request = bench.request(link.nonce, "ann", code: "code-ann-\(link.id)").native(early)
        let after = try await bench.signIn.authorize(early, request, device: bench.device)
        #expect(after.state == .authorized)
        #expect(bench.apple.exchanged.count == 1)
    }

    @Test("Apple down: the same request goes through later; a lost answer: begin anew")
    func survivesApple() async throws {
        let bench = try LinkBench()
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
                _ = try await bench.signIn.beginLink(link.id, binding: .make(random: SystemRandom()))
            } == "wrong_browser")
        #expect(try await version() == opened)
    }

    @Test("the codes and tokens of a link are in the database by their hashes alone")
    func storesHashes() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        let bytes = String(decoding: try bench.bench.databaseBytes(), as: UTF8.self)
        for secret in [link.ticket.reveal(), code.reveal(), "r.ann.code-ann-\(link.id)"] {
            #expect(!bytes.contains(secret.dropFirst(4)))
            #expect(!bench.log.lines.joined().contains(secret))
        }
    }
}
