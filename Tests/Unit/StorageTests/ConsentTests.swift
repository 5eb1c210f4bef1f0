import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// What a third-party application gets, and what a person's consent outlives. The page is in
/// Tests/System/OpenID/test_consent.py.
@Suite struct ConsentTests {
    private static let callback = "https://program.example.com/callback"
    private static let loopback = "http://127.0.0.1:4711/callback"
    private static let notes = "https://notes.example.com/mcp"

    private let bench: Bench
    private let database: Accounts.Database
    private let provider: OpenIDProvider
    private let ann: SignedIn
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        provider = bench.provider(database)
        ann = try await database.signIn(at: bench.clock.now())
        try await database.write(at: now) { transaction in
            try transaction.run(
                """
                INSERT INTO openid_service (uri, id, name, scopes, meanings, secret_hash, created_at, updated_at)
                VALUES (?, 'notes', 'Notes', '["notes.read","notes.write"]', '["Read","Write"]', ?, 0, 0)
                """, [Self.notes, SHA256.hash(utf8: "")])
        }
        try await change("foreign") { $0.needsConsent = true }
        try await change("own") { _ in }
        for (id, isForeign) in [("desktop", false), ("foreign-desktop", true)] {
            try await change(id) { client in
                client.secrets = nil
                client.redirectURIs = [Self.loopback]
                client.needsConsent = isForeign
            }
        }
    }

    private func change(_ id: String, _ edit: @escaping @Sendable (inout OpenIDClient) -> Void) async throws {
        let (id, now) = (OpenIDClientID(unchecked: id), now)
        _ = try await database.changeOpenIDClients(at: now) { clients in
            var client = clients.first { $0.id == id } ?? OpenIDClient(new: id, at: now)
            if client.redirectURIs.isEmpty {
                client.secrets = OpenIDClient.Secrets(current: OpenIDClientSecret(unchecked: "secret").hash)
                client.redirectURIs = [Self.callback]
                client.scopes = OpenIDScope.identity + OpenIDScope.parse("notes.read notes.write")
            }
            edit(&client)
            return clients.filter { $0.id != id } + [client]
        }
    }

    private func signIn(_ subject: String = "ann") async throws -> SignedIn {
        try await database.signIn(subject, at: now)
    }

    private func request(
        _ client: String, _ scope: String, service: Bool = false, prompt: String? = nil
    ) async throws -> ValidatedAuthorizeRequest {
        let client = try #require(try await database.openIDClient(OpenIDClientID(unchecked: client)))
        let fields: [(String, String)] =
            [
                ("response_type", "code"), ("client_id", client.id.rawValue),
                ("redirect_uri", client.redirectURIs[0]), ("scope", scope),
                ("code_challenge", String(repeating: "A", count: 43)), ("code_challenge_method", "S256"),
            ] + (service ? [("resource", Self.notes)] : []) + (prompt.map { [("prompt", $0)] } ?? [])
        let asked = AuthorizeRequest(fields.map { FormField(name: $0.0, value: $0.1) })
        return try ValidatedAuthorizeRequest(
            asked, client: client, address: try #require(asked.answerAddress(of: client)),
            services: try await provider.services(of: asked))
    }

    /// `code`, `ask`, or the error.
    private func answer(
        _ client: String, _ scope: String, service: Bool = false, prompt: String? = nil, _ signedIn: SignedIn
    ) async throws -> String {
        let request = try await request(client, scope, service: service, prompt: prompt)
        return switch try await provider.authorize(request, signedIn: signedIn, isCancelled: false) {
        case .code: "code"
        case .ask: "ask"
        case .error(let error): error.code.rawValue
        case .signIn: "signIn"
        case .notAllowed: "notAllowed"
        }
    }

    private func ticket(for request: ValidatedAuthorizeRequest, _ signedIn: SignedIn) async throws -> String {
        let answer = try await provider.authorize(request, signedIn: signedIn, isCancelled: false)
        guard case .ask(_, let ticket, _) = answer else { throw StoreError.inconsistent("not asked: \(answer)") }
        return ticket
    }

    @discardableResult
    private func allow(
        _ client: String, _ scope: String, service: Bool = false, _ signedIn: SignedIn
    ) async throws -> GrantedCode {
        let request = try await request(client, scope, service: service, prompt: "consent")
        let answer = try await provider.authorize(
            request, signedIn: signedIn, isCancelled: false, ticket: try await ticket(for: request, signedIn))
        guard case .code(let code) = answer else { throw StoreError.inconsistent("no code: \(answer)") }
        return code
    }

    private func consents(_ user: UserID) async throws -> [String] {
        try await database.read(at: now) { try $0.consents(of: user) }
            .map { "\($0.client) \($0.service) \(OpenIDScope.text($0.scopes))" }
    }

    private func given(_ user: UserID) async throws -> Int {
        let filter = AuditFilter(kinds: [.accessGiven], user: user)
        return try await database.auditLog(filter, before: nil, limit: 10).items.count
    }

    @Test("a code is for what the person has allowed; anything else asks")
    func covered() async throws {
        #expect(try await answer("own", "openid email", ann) == "code")
        #expect(try await answer("own", "openid", prompt: "consent", ann) == "code")
        #expect(try await answer("foreign", "openid email", ann) == "ask")
        #expect(try await answer("foreign", "openid email", prompt: "none", ann) == "consent_required")
        try await allow("foreign", "openid email", ann)
        let cases: [(scope: String, service: Bool, answer: String, silent: String)] = [
            ("openid email", false, "code", "code"), ("openid", false, "code", "code"),
            ("openid profile", false, "ask", "consent_required"),
            ("openid offline_access", false, "ask", "consent_required"),
            ("openid", true, "ask", "consent_required"), ("notes.read", true, "ask", "consent_required"),
        ]
        for (scope, service, expected, silent) in cases {
            #expect(try await answer("foreign", scope, service: service, ann) == expected, "\(scope)")
            #expect(try await answer("foreign", scope, service: service, prompt: "none", ann) == silent, "\(scope)")
            #expect(try await answer("foreign", scope, service: service, prompt: "consent", ann) == "ask", "\(scope)")
        }
        // Another person, and another application.
        #expect(try await answer("foreign", "openid", try await signIn("bob")) == "ask")
        try await change("other") { $0.needsConsent = true }
        #expect(try await answer("other", "openid", ann) == "ask")
    }

    @Test("what is allowed later is added, for each service")
    func union() async throws {
        try await allow("foreign", "openid email", ann)
        bench.clock.advance(seconds: 5)
        try await allow("foreign", "openid profile notes.read", service: true, ann)
        try await allow("foreign", "openid", ann)
        #expect(
            try await consents(ann.user.id) == [
                "foreign  openid profile email", "foreign \(Self.notes) notes.read",
            ])
        #expect(try await answer("foreign", "openid email profile notes.read", service: true, ann) == "code")
        #expect(try await answer("foreign", "notes.write", service: true, ann) == "ask")
        #expect(try await given(ann.user.id) == 2)
    }

    @Test("access that outlives the session is allowed for each service by itself")
    func offlineOfEach() async throws {
        try await allow("foreign", "openid offline_access", ann)
        try await allow("foreign", "notes.read", service: true, ann)
        #expect(try await answer("foreign", "openid notes.read", service: true, ann) == "code")
        #expect(try await answer("foreign", "notes.read offline_access", service: true, ann) == "ask")
        try await allow("foreign", "notes.read offline_access", service: true, ann)
        #expect(try await answer("foreign", "notes.read offline_access", service: true, ann) == "code")
        #expect(try await consents(ann.user.id).last == "foreign \(Self.notes) offline_access notes.read")
    }

    @Test("a service without scopes is allowed by itself")
    func bareService() async throws {
        #expect(try await answer("foreign", "", service: true, ann) == "ask")
        try await allow("foreign", "", service: true, ann)
        #expect(try await answer("foreign", "", service: true, ann) == "code")
        #expect(try await consents(ann.user.id) == ["foreign \(Self.notes) "])
    }

    @Test("pressed twice, there are two codes and one consent")
    func doubleSubmission() async throws {
        let request = try await request("foreign", "openid")
        let ticket = try await ticket(for: request, ann)
        let codes = try await (0..<2).asyncMap { _ in
            guard
                case .code(let code) = try await provider.authorize(
                    request, signedIn: ann, isCancelled: false, ticket: ticket)
            else { throw StoreError.inconsistent("no code") }
            return code.reveal()
        }
        #expect(Set(codes).count == 2)
        #expect(try await consents(ann.user.id) == ["foreign  openid"])
        #expect(try await given(ann.user.id) == 1)
    }

    @Test("a ticket stores nothing in another session, or for another request")
    func otherTicket() async throws {
        let (ann, again, bob) = (try await signIn(), try await signIn(), try await signIn("bob"))
        let request = try await request("foreign", "openid")
        let ticket = try await ticket(for: request, ann)
        for person in [again, bob] {
            guard
                case .ask = try await provider.authorize(
                    request, signedIn: person, isCancelled: false, ticket: ticket)
            else {
                Issue.record("not asked")
                continue
            }
        }
        let wider = try await self.request("foreign", "openid email")
        guard case .ask = try await provider.authorize(wider, signedIn: ann, isCancelled: false, ticket: ticket) else {
            throw Unexpected("not asked")
        }
        #expect(try await consents(ann.user.id).isEmpty)
        #expect(try await consents(bob.user.id).isEmpty)
    }

    @Test("an application on the visitor's machine asks each time, and remembers what a foreign one may")
    func native() async throws {
        for client in ["desktop", "foreign-desktop"] {
            for _ in 0..<2 {
                #expect(try await answer(client, "openid", ann) == "ask")
                #expect(try await answer(client, "openid", prompt: "none", ann) == "interaction_required")
                try await allow(client, "openid", ann)
            }
        }
        #expect(try await consents(ann.user.id) == ["foreign-desktop  openid"])
    }

    enum End: CaseIterable {
        case access, group, disabled, apple, deletion, client, ownAgain
    }

    @Test("consent ends with the access", arguments: End.allCases)
    func forgotten(end: End) async throws {
        let id = OpenIDClientID(unchecked: "foreign")
        _ = try await database.patchUser(ann.user.id, UserPatch(groups: ["staff"]), at: now)
        try await change("foreign") { $0.groups = ["staff"] }
        let member = try #require(try await database.user(ann.user.id))
        try await allow("foreign", "openid offline_access", SignedIn(session: ann.session, user: member))
        switch end {
        case .access: #expect(try await database.endAccess(of: id, to: ann.user.id, at: now) == 1)
        case .group: _ = try await database.patchUser(ann.user.id, UserPatch(groups: []), at: now)
        case .disabled: _ = try await database.patchUser(ann.user.id, UserPatch(state: .disabled), at: now)
        case .apple:
            bench.clock.advance(seconds: 1)
            _ = try await database.apply(notification(.consentRevoked, time: now), team: Bench.team, at: now)
        case .deletion: _ = try await database.deleteUser(ann.user.id, at: now)
        case .client: _ = try await database.changeOpenIDClients(at: now) { $0.filter { $0.id != id } }
        case .ownAgain: try await change("foreign") { $0.needsConsent = false }
        }
        #expect(try await consents(ann.user.id).isEmpty)
    }

    @Test(
        "Apple's word that comes after a new sign-in ends what was allowed before, and nothing that was allowed since",
        arguments: [false, true])
    func endedLate(isSignedOut: Bool) async throws {
        let first = try await signIn()
        try await allow("foreign", "openid offline_access", first)
        let withdrawn = now
        bench.clock.advance(seconds: 60)
        let second = try await signIn()
        try await change("later") { $0.needsConsent = true }
        try await allow("later", "openid", second)
        #expect(try await answer("foreign", "openid", second) == "code")
        if isSignedOut { _ = try await database.endSession(second.session.id, cause: .signOut, at: now) }
        bench.clock.advance(seconds: 1)
        _ = try await database.apply(notification(.consentRevoked, time: withdrawn), team: Bench.team, at: now)
        #expect(try await consents(first.user.id) == ["later  openid"])
        let held = try await database.applications(of: first.user.id, at: now)
        #expect(held?.map(\.client.rawValue) == ["later"])
        let third = isSignedOut ? try await signIn() : second
        #expect(try await answer("foreign", "openid", third) == "ask")
        #expect(try await answer("later", "openid", third) == "code")
    }

    @Test("a decision's seal is no mark of a request, and neither is another request's")
    func seals() throws {
        let (request, other) = (SHA256.hash(utf8: "request"), SHA256.hash(utf8: "other"))
        let seal = RequestSeal(time: now, name: "ses_1")
        for (kind, wrong) in [(RequestSeal.Kind.mark, RequestSeal.Kind.decision), (.decision, .mark)] {
            let text = seal.text(kind, for: request, with: bench.keyring)
            #expect(RequestSeal.open(text, kind, for: request, with: bench.keyring) == seal)
            #expect(RequestSeal.open(text, wrong, for: request, with: bench.keyring) == nil)
            #expect(RequestSeal.open(text, kind, for: other, with: bench.keyring) == nil)
        }
    }

    @Test("a remembered consent is listed and ended without any token")
    func listedWithoutTokens() async throws {
        try await allow("foreign", "openid email notes.read", service: true, ann)
        bench.clock.advance(seconds: 120)
        let listed = try #require(try await database.applications(of: ann.user.id, at: now)?.first)
        #expect(listed.client.rawValue == "foreign" && !listed.isOffline)
        #expect(OpenIDScope.text(listed.scopes) == "openid email notes.read")
        #expect(listed.services.map(\.name) == ["Notes"])
        #expect(try await database.endAccess(of: listed.client, to: ann.user.id, at: now) == 1)
        #expect(try await database.applications(of: ann.user.id, at: now) == [])
        #expect(try await answer("foreign", "openid", ann) == "ask")
    }

    @Test("an own application that becomes one of others loses what it holds, and asks")
    func becomesForeign() async throws {
        #expect(try await answer("own", "openid offline_access", ann) == "code")
        let stale = try await request("own", "openid offline_access")
        let silent = try await request("own", "openid", prompt: "none")
        try await change("own") { $0.name = "Mine" }
        #expect(try await database.applications(of: ann.user.id, at: now)?.count == 1)
        try await change("own") { $0.needsConsent = true }
        #expect(try await database.applications(of: ann.user.id, at: now) == [])
        #expect(try await answer("own", "openid", ann) == "ask")
        // A request that began before gets nothing.
        guard case .signIn = try await provider.authorize(stale, signedIn: ann, isCancelled: false) else {
            throw Unexpected("a code")
        }
        guard case .error = try await provider.authorize(silent, signedIn: ann, isCancelled: false) else {
            throw Unexpected("a page for prompt=none")
        }
        try await allow("own", "openid", ann)
        try await change("own") { $0.name = "Still theirs" }
        #expect(try await database.applications(of: ann.user.id, at: now)?.count == 1)
    }

    @Test("consent for a scope that the client loses counts again when it gets it back, and is not listed meanwhile")
    func scopeTakenAndGivenBack() async throws {
        try await allow("foreign", "openid email", ann)
        try await change("foreign") { $0.scopes = [.openid] }
        #expect(try await database.applications(of: ann.user.id, at: now)?.first?.scopes == [.openid])
        #expect(try await answer("foreign", "openid email", ann) == "code")
        try await change("foreign") { $0.scopes = [.openid, .email, .profile] }
        #expect(try await answer("foreign", "openid email", ann) == "code")
        #expect(try await answer("foreign", "openid profile", ann) == "ask")
    }

    @Test("`prompt=consent` survives the way through Apple")
    func promptSurvives() async throws {
        for (prompt, kept) in [("consent", "prompt=consent"), ("login consent", "prompt=login%20consent")] {
            let request = try await request("foreign", "openid", prompt: prompt)
            guard case .signIn(let query) = try await provider.authorize(request, signedIn: nil, isCancelled: false)
            else {
                Issue.record("\(prompt)")
                continue
            }
            #expect(query.contains(kept))
        }
    }
}

extension Range<Int> {
    fileprivate func asyncMap<Value>(_ body: (Int) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for index in self { values.append(try await body(index)) }
        return values
    }
}
