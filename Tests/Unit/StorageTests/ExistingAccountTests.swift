import Coding
import Crypto
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// "Already have an account?": asked once of somebody nobody knows, in the browser that brought them.
@Suite struct ExistingAccountTests {
    private let bench: LinkBench

    init() throws { bench = try LinkBench(asksExisting: true) }

    private func ask(_ bench: LinkBench, _ subject: String = "ann") async throws -> (WaitingPerson, form: [UInt8]) {
        let attempt = bench.signIn.begin(
            binding: bench.browser, returnTo: LinkBench.targets.validate("/notes") ?? LinkBench.targets.defaultTarget,
            replacing: nil)
        let form = bench.form(attempt, subject, user: "Ann")
        guard case .asksExisting(let person) = await bench.post(form) else { throw Unexpected() }
        return (person, form)
    }

    private func ticket(_ bench: LinkBench, _ person: WaitingPerson) async throws -> LinkTicket {
        try await bench.signIn.ticket(ofWaiting: person.id, binding: .value(bench.browser))
    }

    @Test("the question creates no user; a reload repeats it; \"I'm new\" creates the user and the session once")
    func new() async throws {
        let (person, form) = try await ask(bench)
        #expect(person.email?.address == "ann@example.com" && person.name == PersonName(given: "Ann"))
        #expect(try await bench.events().isEmpty)
        bench.clock.advance(seconds: 31)
        let next = try bench.restarted(asksExisting: true)
        guard case .asksExisting(person) = await next.post(form) else { throw Unexpected() }
        #expect(bench.apple.exchanged.count == 1)
        let answer = try await next.signIn.signUp(
            waiting: person.id, binding: .value(bench.browser), device: bench.device)
        guard case .signedIn(let token, let session, let target) = answer else { throw Unexpected() }
        #expect(target.location == "/notes" && session.kind == .browser)
        // A double tap has the same cookie.
        let again = try await next.signIn.signUp(
            waiting: person.id, binding: .value(bench.browser), device: bench.device)
        guard case .signedIn(let same, _, _) = again else { throw Unexpected() }
        #expect(same.reveal() == token.reveal())
        #expect(try await next.events() == ["user.created", "session.created"])
        #expect(try await next.database.user(session.user)?.name == PersonName(given: "Ann"))
        // Known now: not asked again.
        guard case .signedIn = await next.signInWithApple() else { throw Unexpected() }
    }

    @Test("one waiting identity serves one link")
    func servesOnce() async throws {
        let (person, _) = try await ask(bench)
        let ticket = try await ticket(bench, person)
        let (first, second) = (
            try await bench.link("a", waiting: ticket), try await bench.link("b", waiting: ticket)
        )
        let binding = BindingCookie.value(bench.browser)
        for link in [first, second] { try await bench.open(link) }
        _ = try await bench.signIn.connectWaiting(first.id, binding: binding)
        #expect(
            await reason { _ = try await bench.signIn.connectWaiting(second.id, binding: binding) } == "link_unknown")
        #expect(try await bench.row(second.id).state == .open)
        // The second one's page has Apple's button instead of a "Connect" that would lead back to it.
        let page = try await bench.signIn.link(second.id)
        #expect(try await bench.signIn.waitingPerson(for: page, binding: binding) == nil)
    }

    @Test("\"I'm new\" sent again after signing out does not return the ended session's cookie")
    func newThenSignedOut() async throws {
        let (person, _) = try await ask(bench)
        func answer() async throws -> SignInOutcome {
            try await bench.signIn.signUp(
                waiting: person.id, binding: .value(bench.browser), device: bench.device)
        }
        guard case .signedIn(_, let session, _) = try await answer() else { throw Unexpected() }
        _ = try await bench.database.endSession(session.id, cause: .signOut, at: bench.now)
        guard case .failed(Failure(.replayed), _, _) = try await answer() else { throw Unexpected() }
    }

    @Test("a known person who comes from another team is not asked about an existing account")
    func transferred() async throws {
        guard case .asksExisting(let person) = await bench.signInWithApple("ann") else { throw Unexpected() }
        _ = try await bench.signIn.signUp(
            waiting: person.id, binding: .value(bench.browser), device: bench.device)
        try bench.bench.stranger().write { connection in
            try connection.execute(
                """
                UPDATE apple_identity SET team = 'OLDTEAM001', transfer_target = ?, transfer_subject = 'moved.ann'
                """,
                [Bench.team.rawValue])
        }
        guard case .asksExisting = await bench.signInWithApple("bob") else { throw Unexpected() }
        guard case .signedIn(_, let session, _) = await bench.signInWithApple("new-ann") else { throw Unexpected() }
        #expect(try await bench.database.user(session.user) != nil)
        #expect(try await bench.events().filter { $0 == "user.created" }.count == 1)
    }

    @Test("a waiting identity is gone from the database after ten minutes")
    func expires() async throws {
        let (person, _) = try await ask(bench)
        let link = try await bench.link(waiting: try await ticket(bench, person))
        bench.clock.advance(seconds: 600)
        let binding = BindingCookie.value(bench.browser)
        #expect(
            await reason { _ = try await bench.signIn.ticket(ofWaiting: person.id, binding: binding) }
                == "link_expired")
        #expect(
            await reason {
                _ = try await bench.signIn.signUp(waiting: person.id, binding: binding, device: bench.device)
            } == "link_expired")
        #expect(await reason { _ = try await bench.signIn.connectWaiting(link.id, binding: binding) } != "ok")
        #expect(try await bench.database.maintain(at: bench.now).waitingIdentities == 1)
    }

    @Test("known people, apps and links are not asked, nor anyone unless configured")
    func notAsked() async throws {
        let link = try await bench.link()
        let attempt = try await bench.begin(link)
        guard case .linkAuthorized = await bench.post(bench.form(attempt)) else { throw Unexpected() }
        let challenge = bench.signIn.beginNative()
        let claim = Hexadecimal.encode(SHA256.hash(utf8: challenge.nonce).bytes)
        let native = await bench.signIn.completeNative(
            NativeSignInRequest(
                identityToken: "bob|\(claim)|code-n", authorizationCode: "code-n", nonce: challenge.nonce),
            device: bench.device)
        guard case .signedIn = native else { throw Unexpected() }
        guard case .signedIn = await bench.signInWithApple("bob") else { throw Unexpected() }
        guard case .signedIn = await (try LinkBench()).signInWithApple() else { throw Unexpected() }
    }

    @Test("with sign-up closed, an account can be connected but not created")
    func closed() async throws {
        let bench = try LinkBench(signUp: .closed, asksExisting: true)
        let (person, _) = try await ask(bench)
        let answer = try await bench.signIn.signUp(
            waiting: person.id, binding: .value(bench.browser), device: bench.device)
        guard case .refused(.closed, nil) = answer else { throw Unexpected() }
        #expect(try await bench.events().isEmpty)
    }

    @Test("neither address nor token is readable in the database, and a deletion erases the waiting identity")
    func sealed() async throws {
        let (person, _) = try await ask(bench)
        let bytes = String(decoding: try bench.bench.databaseBytes(), as: UTF8.self)
        #expect(!bytes.contains("ann@example.com") && !bytes.contains("r.ann."))
        // The same person signs in elsewhere, is known thereby, and deletes their account.
        let other = try bench.beside()
        guard case .signedIn(_, let session, _) = await other.signInWithApple() else { throw Unexpected() }
        _ = try await bench.database.deleteUser(session.user, at: bench.now)
        #expect(try await bench.database.waiting(person.id, at: bench.now) == nil)
    }
}
