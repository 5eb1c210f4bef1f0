import Coding
import Crypto
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// Clients known by a metadata document, over the real database: what is stored of them, when, and what ends it.
@Suite struct DocumentClientTests {
    private static let url = "https://app.example/client.json"
    private static let callback = "https://app.example/cb"

    /// The document's host.
    private final class Host: Sendable {
        private let state = Mutex((name: "Notes", uris: [callback], isFailing: false, asked: 0))
        var asked: Int { state.withLock { $0.asked } }
        func say(name: String = "Notes", uris: [String] = [callback]) {
            state.withLock { ($0.name, $0.uris) = (name, uris) }
        }
        func fail() { state.withLock { $0.isFailing = true } }

        func answer(_ url: String) -> DocumentAnswer {
            let (name, uris, isFailing) = state.withLock { state in
                state.asked += 1
                return (state.name, state.uris, state.isFailing)
            }
            if isFailing { return .failed("timeout") }
            let document: JSONObject = [
                "client_id": .string(url), "client_name": .string(name), "redirect_uris": .texts(uris),
            ]
            return .content(JSONWriter.encode(document), lifetime: 300)
        }
    }

    private let bench: Bench
    private let database: Accounts.Database
    private let host = Host()
    private let documents: ClientDocuments
    private let provider: OpenIDProvider
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        documents = ClientDocuments(hosts: ["app.example"], clock: bench.clock) { [host] in host.answer($0) }
        provider = bench.provider(database, audiences: ["https://app.example/audience"], documents: documents)
    }

    private func client(_ url: String = url) async throws -> OpenIDClient {
        try #require(try await provider.client(named: url))
    }

    private func signIn(_ subject: String = "ann") async throws -> SignedIn {
        try await database.signIn(subject, at: now)
    }

    /// As after a person's consent.
    private func save(_ client: OpenIDClient, _ signedIn: SignedIn, _ code: GrantedCode) async throws {
        let grant = Grant(
            id: code.grant, client: client.id, user: signedIn.user.id, session: signedIn.session.id,
            redirectURI: Self.callback, scopes: [.openid, .offlineAccess],
            challenge: Base64URL.encode(SHA256.hash(utf8: Self.verifier).bytes),
            authenticatedAt: signedIn.session.createdAt,
            code: Grant.Token(hash: code.hash, expiresAt: now.adding(seconds: 60)),
            expiresAt: now.adding(seconds: 60))
        let outcome = try await database.saveGrant(
            grant, of: client, needing: ["": grant.scopes], isAllowed: true, at: now)
        #expect(outcome == .saved)
    }

    private static let verifier = String(repeating: "v", count: 43)

    private func request(_ client: String, _ pairs: [(String, String)]) throws -> ProviderRequest {
        let fields = (pairs + [("client_id", client)]).map { FormField(name: $0.0, value: $0.1) }
        return try ProviderRequest(fields, authorization: [])
    }

    private func tokens(_ client: OpenIDClient, _ signedIn: SignedIn) async throws -> OpenIDProvider.TokenAnswer {
        let code = GrantedCode.make(.make(at: now, random: SystemRandom()), secret: SystemRandom().bytes(32))
        try await save(client, signedIn, code)
        let request = try request(
            client.clientID,
            [
                ("grant_type", "authorization_code"), ("code", code.reveal()), ("redirect_uri", Self.callback),
                ("code_verifier", Self.verifier),
            ])
        return try await provider.tokens(for: request, of: try await provider.authenticate(request))
    }

    private func consents() async throws -> Int {
        try await database.read { try $0.count("SELECT count(*) FROM openid_consent") }
    }

    private func allow(_ client: OpenIDClient, _ user: UserID) async throws {
        try await database.write(at: now) { transaction in
            try transaction.run(
                """
                INSERT INTO openid_consent (user, client, service, scopes, given_at) VALUES (?, ?, '', '[]', ?)
                ON CONFLICT (user, client, service) DO NOTHING
                """, [user, client.id, transaction.now])
        }
    }

    @Test("what it may do: a public client of someone else, which needs PKCE and consent")
    func rules() async throws {
        let client = try await client()
        #expect(client.isPublic && client.needsConsent && client.requiresPKCE && client.groups.isEmpty)
        #expect(client.name == "Notes" && client.redirectURIs == [Self.callback] && client.logoutURIs.isEmpty)
        #expect(client.scopes == [.openid, .profile, .email, .groups, .offlineAccess])
        let scope = try #require(OpenIDScope(rawValue: "notes.read"))
        #expect(!client.mayRequest(.apple) && client.mayRequest(scope))
    }

    @Test("10,000 unfinished requests store nothing, and ask the host once")
    func unfinished() async throws {
        for _ in 1...10_000 { _ = try await client() }
        #expect(try await database.openIDClients().isEmpty && host.asked == 1)
        // Without a row, there is nothing for other endpoints.
        await #expect(throws: Failure.self) { try await provider.authenticate(request(Self.url, [])) }
        #expect(host.asked == 1)
    }

    @Test("all that leaves names it by its address")
    func names() async throws {
        let (client, signedIn) = (try await client(), try await signIn())
        let answer = try await tokens(client, signedIn)
        let hint = try #require(try await provider.tokens.verify(hint: answer.idToken?.reveal() ?? "", at: now))
        #expect(hint.client == Self.url && hint.user == signedIn.user.id)
        let held = try #require(try await provider.grant(access: answer.access.reveal()))
        #expect(held.clientID == Self.url && answer.refresh != nil)
        let stored = try #require(try await database.openIDClients().first)
        #expect(stored.document == Self.url && stored.id == client.id && stored.id.isReserved)
        #expect(try await provider.logout(logout(answer, client: Self.url)).user == signedIn.user.id)
        #expect(try await provider.logout(logout(answer, client: client.id.rawValue)).user == nil)
    }

    private func logout(_ answer: OpenIDProvider.TokenAnswer, client: String) throws -> LogoutRequest {
        try LogoutRequest([
            FormField(name: "id_token_hint", value: answer.idToken?.reveal() ?? ""),
            FormField(name: "client_id", value: client),
        ])
    }

    @Test("its id for paths is no client_id, and its address only byte for byte")
    func onlyByAddress() async throws {
        let client = try await client()
        _ = try await tokens(client, signIn())
        for text in [client.id.rawValue, Self.url + "?", "https://app.example:443/client.json"] {
            await #expect(throws: Failure.self) { try await provider.authenticate(request(text, [])) }
        }
        #expect(try await provider.client(named: client.id.rawValue) == nil)
        #expect(try await provider.authenticate(request(Self.url, [])).id == client.id)
        await #expect(throws: Failure.self) {
            try await provider.authenticate(request(Self.url, [("client_secret", "x")]))
        }
    }

    @Test("an assertion's audience is no client (RFC 8725 §3.12)")
    func audience() async throws {
        await #expect(throws: Failure.self) { try await provider.client(named: "https://app.example/audience") }
        #expect(host.asked == 0)
    }

    @Test("a new name is stored with the next consent, and ends nothing")
    func newName() async throws {
        let signedIn = try await signIn()
        let client = try await client()
        let first = try await tokens(client, signedIn)
        try await allow(client, signedIn.user.id)
        bench.clock.advance(seconds: 300)
        host.say(name: "Better notes")
        let renamed = try await self.client()
        #expect(renamed.name == "Better notes")
        #expect(try await database.openIDClients().map(\.name) == ["Notes"])
        _ = try await tokens(renamed, signedIn)
        #expect(try await database.openIDClients().map(\.name) == ["Better notes"])
        #expect(try await provider.grant(access: first.access.reveal()) != nil)
        #expect(try await consents() == 1)
    }

    @Test("new redirect URIs ask everyone again, once, and end nothing else")
    func newRedirects() async throws {
        let signedIn = try await signIn()
        let client = try await client()
        let first = try await tokens(client, signedIn)
        try await allow(client, signedIn.user.id)
        bench.clock.advance(seconds: 300)
        host.say(uris: [Self.callback, "https://evil.example/cb"])
        #expect(try await self.client().redirectURIs.count == 2)
        #expect(try await consents() == 0)
        #expect(try await provider.grant(access: first.access.reveal()) != nil)
        try await allow(client, signedIn.user.id)
        // The same ones, in another order.
        host.say(uris: ["https://evil.example/cb", Self.callback])
        bench.clock.advance(seconds: 300)
        _ = try await self.client()
        #expect(try await consents() == 1)
    }

    @Test("a process that has an older document fetches the newer one before it deletes anything")
    func twoProcesses() async throws {
        let signedIn = try await signIn()
        let client = try await client()
        _ = try await tokens(client, signedIn)
        bench.clock.advance(seconds: 10)
        host.say(uris: [Self.callback, "https://app.example/other"])
        let uris = [Self.callback, "https://app.example/other"]
        try await change(client.id, to: uris)
        try await allow(client, signedIn.user.id)
        #expect(try await self.client().redirectURIs == uris)
        #expect(try await consents() == 1 && host.asked == 2)
    }

    /// As another process does that has fetched a newer document.
    private func change(_ id: OpenIDClientID, to uris: [String]) async throws {
        try await database.write(at: now) { transaction in
            guard var client = try transaction.openIDClient(id) else { return }
            (client.redirectURIs, client.updatedAt) = (uris, transaction.now)
            try transaction.save(client, isNew: false)
        }
    }

    @Test("while the host fails, a process with an older document brings back no removed redirect URI")
    func olderDocument() async throws {
        let signedIn = try await signIn()
        let client = try await client()
        _ = try await tokens(client, signedIn)
        bench.clock.advance(seconds: 10)
        try await change(client.id, to: ["https://app.example/new"])
        try await allow(client, signedIn.user.id)
        host.fail()
        #expect(try await self.client().redirectURIs == ["https://app.example/new"])
        #expect(try await database.openIDClient(client.id)?.redirectURIs == ["https://app.example/new"])
        #expect(try await consents() == 1)
    }

    @Test("strangers cannot use up the fetches of a document that somebody has allowed")
    func fetchesOfItsOwn() async throws {
        _ = try await tokens(client(), signIn())
        bench.clock.advance(seconds: 300)
        for number in 1...ClientDocuments.fetchesPerHost + 1 {
            _ = try? await provider.client(named: "https://app.example/\(number)")
        }
        #expect(host.asked == 1 + ClientDocuments.fetchesPerHost)
        host.say(name: "Better notes")
        #expect(try await client().name == "Better notes")
    }

    @Test("a person's documents fill no database: the one allowed first makes room, and its client goes")
    func applicationsOfAPerson() async throws {
        let signedIn = try await signIn()
        for number in 0...Consent.limit {
            bench.clock.advance(seconds: 61)
            let code = GrantedCode.make(.make(at: now, random: SystemRandom()), secret: SystemRandom().bytes(32))
            try await save(client("https://app.example/\(number)"), signedIn, code)
        }
        #expect(try await consents() == Consent.limit)
        let ended = try await database.read {
            try $0.count("SELECT count(*) FROM audit WHERE type = 'access.ended'")
        }
        #expect(ended == 1)
        _ = try await database.maintain(at: now)
        let left = try await database.openIDClients().map(\.clientID)
        #expect(left.count == Consent.limit && !left.contains("https://app.example/0"))
    }

    @Test("a host that is removed ends what its clients hold, with a line in the audit log")
    func removedHost() async throws {
        documents.hosts = ["app.example", "kept.example"]
        let signedIn = try await signIn()
        let client = try await client()
        let answer = try await tokens(client, signedIn)
        let kept = try await tokens(self.client("https://kept.example/x"), signedIn)
        try await allow(client, signedIn.user.id)
        documents.hosts = ["kept.example"]
        // At once, before anything is deleted.
        await #expect(throws: Failure.self) { try await provider.authenticate(request(Self.url, [])) }
        await #expect(throws: Failure.self) { try await provider.client(named: Self.url) }
        #expect(try await provider.grant(access: answer.access.reveal()) == nil)
        try await database.endDocumentClients(outside: documents.hosts, at: now)
        #expect(try await provider.grant(access: answer.access.reveal()) == nil)
        #expect(try await provider.grant(access: kept.access.reveal()) != nil)
        #expect(try await database.openIDClients().map(\.clientID) == ["https://kept.example/x"])
        // That of the other one.
        #expect(try await consents() == 1)
        let lines = try await database.read { snapshot in
            try snapshot.rows("SELECT type FROM audit WHERE object = ? ORDER BY type", [Self.url])
                .map { try $0["type"] as String }
        }
        #expect(lines == ["access.given", "openid_client.added", "openid_client.deleted"])
        try await database.endDocumentClients(outside: ["*"], at: now)
        #expect(try await database.openIDClients().count == 1)
    }

    @Test("operators may delete it, not change it, nor register another with such an id")
    func operators() async throws {
        let client = try await client()
        _ = try await tokens(client, signIn())
        let clients = Clients(database, audiences: [], random: SystemRandom())
        func isRefused(_ id: OpenIDClientID, _ change: @escaping @Sendable (inout OpenIDClient) -> Void) async throws
            -> Bool
        {
            let outcome = try await clients.change(id, at: now) { client, _ in change(&client) }
            if case .invalid = outcome { return true }
            return false
        }
        #expect(try await isRefused(client.id) { $0.name = "Other" })
        #expect(try await isRefused(client.id) { $0.scopes = OpenIDScope.identity })
        let other = OpenIDClientID(document: "https://app.example/other")
        #expect(try await isRefused(other) { $0.redirectURIs = [Self.callback] })
        #expect(try await !isRefused(OpenIDClientID(unchecked: "doc-viewer")) { $0.redirectURIs = [Self.callback] })
        guard case .withoutSecret = try await clients.rotateSecret(of: client.id, at: now) else {
            throw Unexpected("it got a secret")
        }
        #expect(try await clients.delete(client.id, at: now)?.document == Self.url)
        #expect(try await provider.storedClient(named: Self.url) == nil)
    }

    @Test("a client registered with such an id before stays valid, and its document is refused")
    func former() async throws {
        let id = OpenIDClientID(document: Self.url)
        let old = OpenIDClient(id: id, name: "Old", redirectURIs: [Self.callback], createdAt: now, updatedAt: now)
        _ = try await database.changeOpenIDClients(at: now) { $0 + [old] }
        #expect(try await provider.client(named: id.rawValue)?.name == "Old")
        #expect(try await provider.client(named: Self.url) == nil)
        #expect(try await provider.storedClient(named: Self.url) == nil)
        let clients = Clients(database, audiences: [], random: SystemRandom())
        guard case .saved = try await clients.change(id, at: now, { client, _ in client.name = "New" }) else {
            throw Unexpected("it cannot be changed")
        }
    }

    @Test("the metadata says so only while hosts are named")
    func metadata() throws {
        func isAdvertised() throws -> Bool {
            try JSONReader.parse(provider.metadata(services: [])).objectValue?["client_id_metadata_document_supported"]
                == true
        }
        #expect(try isAdvertised())
        documents.hosts = []
        #expect(try !isAdvertised())
    }
}
