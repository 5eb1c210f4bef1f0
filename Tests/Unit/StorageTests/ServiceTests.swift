import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// Services (RFC 8707) over the real database: whose token is whose. What they see is in Tests/System/OpenID.
@Suite struct ServiceTests {
    private static let notes = "https://api.example.com/notes"
    private static let files = "https://files.example.com"
    private static let callback = "https://program.example.com/callback"

    private let bench: Bench
    private let database: Accounts.Database
    private let provider: OpenIDProvider
    private let services: Services
    private let client: OpenIDClient
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        provider = bench.provider(database)
        services = Services(database, isLocal: false, random: SystemRandom())
        for (id, uri) in [("notes", Self.notes), ("files", Self.files)] {
            _ = try await services.change(OpenIDClientID(unchecked: id), uri: uri, at: bench.clock.now()) {
                service, _ in
                service.secrets = .init(current: OpenIDClientSecret(unchecked: "secret of \(id)").hash)
                service.scopes = ["read", "\(id).write"].compactMap { OpenIDScope(rawValue: $0) }.map {
                    .init($0, "Do it")
                }
            }
        }
        let made = OpenIDClient(
            id: OpenIDClientID(unchecked: "program"), name: "Program",
            secrets: .init(current: OpenIDClientSecret(unchecked: "secret").hash), redirectURIs: [Self.callback],
            scopes: OpenIDScope.parse("openid profile offline_access read notes.write files.write"),
            createdAt: bench.clock.now(), updatedAt: bench.clock.now())
        client = try #require(try await database.changeOpenIDClients(at: bench.clock.now()) { _ in [made] }.first)
    }

    private typealias Answer = OpenIDProvider.TokenAnswer

    private func form(_ pairs: [(String, String)], _ resources: [String]) -> [FormField] {
        (pairs + resources.map { ("resource", $0) }).map { FormField(name: $0.0, value: $0.1) }
    }

    private func code(_ resources: [String], scope: String) async throws -> GrantedCode {
        let client = try #require(try await database.openIDClient(client.id))
        let asked = AuthorizeRequest(
            form(
                [
                    ("response_type", "code"), ("client_id", "program"), ("redirect_uri", Self.callback),
                    ("scope", scope),
                ], resources))
        let valid = try ValidatedAuthorizeRequest(
            asked, client: client, address: try #require(asked.answerAddress(of: client)),
            services: try await provider.services(of: asked))
        let signedIn = try await database.signIn(at: now)
        var answer = try await provider.authorize(valid, signedIn: signedIn, isCancelled: false)
        if case .ask(_, let ticket, _) = answer {
            answer = try await provider.authorize(valid, signedIn: signedIn, isCancelled: false, ticket: ticket)
        }
        guard case .code(let code) = answer else { throw StoreError.inconsistent("no code: \(answer)") }
        return code
    }

    private func post(_ pairs: [(String, String)], _ resources: [String]) async throws -> Answer {
        try await provider.tokens(
            for: ProviderRequest(
                form(pairs + [("client_id", "program"), ("client_secret", "secret")], resources), authorization: []),
            of: client)
    }

    private func redeem(_ code: GrantedCode, _ resources: [String] = []) async throws -> Answer {
        try await post(
            [("grant_type", "authorization_code"), ("code", code.reveal()), ("redirect_uri", Self.callback)], resources)
    }

    private func tokens(_ resources: [String], scope: String = "read offline_access", at: String? = nil) async throws
        -> Answer
    {
        try await redeem(code(resources, scope: scope), at.map { [$0] } ?? [])
    }

    private func refresh(_ answer: Answer, _ resources: [String] = [], scope: String? = nil) async throws -> Answer {
        try await post(
            [("grant_type", "refresh_token"), ("refresh_token", try #require(answer.refresh).reveal())]
                + (scope.map { [("scope", $0)] } ?? []), resources)
    }

    /// The service that may accept a token, and what for; nil when it has ended.
    private func use(_ answer: Answer) async throws -> String? {
        guard let held = try await provider.grant(access: answer.access.reveal()) else { return nil }
        return "\(held.accessService?.id.rawValue ?? "userinfo"): \(OpenIDScope.text(held.accessScopes))"
    }

    private func error(_ body: () async throws -> Answer) async -> ProviderError.Code? {
        do { _ = try await body() } catch { return (error as? Failure)?.oauth?.code }
        return nil
    }

    @Test(
        "A token is for the one service that the request names, or the only one (RFC 8707 §2)",
        arguments: [
            ([notes], [], "notes"), ([notes], [notes], "notes"), ([notes], ["HTTPS://API.example.com/notes"], "notes"),
            ([files], [files + "/"], "files"), ([files + "/"], [files], "files"), ([notes, notes], [], "notes"),
            ([notes, files], [files], "files"), ([notes, files], [notes], "notes"), ([notes], [""], "notes"),
            ([notes, files], [], nil), ([notes], [files], nil), ([notes], [notes, notes], nil),
            ([notes], [notes + "/"], nil), ([notes], ["https://api.example.com/Notes"], nil), ([notes], ["x"], nil),
            ([notes], [notes + "#x"], nil), ([], [notes], nil),
        ] as [([String], [String], String?)])
    func target(asked: [String], named: [String], service: String?) async throws {
        let code = try await code(asked, scope: asked.isEmpty ? "openid" : "read")
        guard let service else {
            #expect(await error { try await redeem(code, named) } == .invalidTarget)
            // It may ask again.
            _ = try await redeem(code, asked.prefix(1).map { $0 })
            return
        }
        #expect(try await use(redeem(code, named)) == "\(service): read")
    }

    @Test(
        "An authorization request for what is no service is refused",
        arguments: ["https://api.example.com", notes + "/", notes + "#", "notes", "http://api.example.com/notes"])
    func unknown(resource: String) async throws {
        await #expect(throws: Failure.self) { try await code([Self.notes, resource], scope: "read") }
    }

    @Test(
        "Scopes that cannot be had are dropped, and the granted ones named; without openid there is no ID token",
        arguments: [
            ("read", "read", "read", false),
            ("read files.write notes.write", "notes.write read", "notes.write read", false),
            ("unheard_of", "", "", false), ("openid email", "openid", "openid", true),
            ("read openid profile", "openid profile read", "openid profile read", true),
        ])
    func scopes(asked: String, answered: String, used: String, hasIDToken: Bool) async throws {
        let answer = try await tokens([Self.notes], scope: asked)
        #expect(OpenIDScope.text(answer.scopes) == answered)
        #expect(try await use(answer) == "notes: \(used)")
        #expect((answer.idToken != nil) == hasIDToken)
        #expect(answer.refresh == nil)
    }

    @Test("What a service or the client loses, its tokens lose at once, and no other service's")
    func narrowing() async throws {
        let both = [Self.notes, Self.files]
        let first = try await tokens(both, scope: "read files.write notes.write offline_access", at: Self.notes)
        let second = try await refresh(first, [Self.files])
        #expect(try await use(first) == "notes: offline_access notes.write read")
        #expect(try await use(second) == "files: offline_access files.write read")
        _ = try await services.change(OpenIDClientID(unchecked: "notes"), at: now) { service, _ in
            service.scopes.removeAll { $0.scope.rawValue == "read" }
        }
        #expect(try await use(first) == "notes: offline_access notes.write")
        #expect(try await use(second) == "files: offline_access files.write read")
        try await database.changeClients(at: now) { client in client.scopes.removeAll { $0.rawValue == "files.write" } }
        #expect(try await use(second) == "files: offline_access read")
        #expect(OpenIDScope.text(try await refresh(second, [Self.files]).scopes) == "offline_access read")
    }

    @Test("A scope that was allowed at one service is not allowed at another that gets it later")
    func laterScope() async throws {
        try await database.changeClients(at: now) { $0.needsConsent = true }
        let (files, read) = (OpenIDClientID(unchecked: "files"), try #require(OpenIDScope(rawValue: "read")))
        _ = try await services.change(files, at: now) { service, _ in service.scopes.removeAll { $0.scope == read } }
        let first = try await tokens(
            [Self.notes, Self.files], scope: "read files.write offline_access", at: Self.notes)
        _ = try await services.change(files, at: now) { service, _ in service.scopes.append(.init(read, "Read")) }
        let second = try await refresh(first, [Self.files])
        #expect(try await use(second) == "files: offline_access files.write")
        #expect(try await use(refresh(second, [Self.notes])) == "notes: offline_access read")
    }

    @Test("A refresh for another service keeps the first one's token; for the same, ten seconds")
    func twoServices() async throws {
        let both = [Self.notes, Self.files]
        let first = try await tokens(both, at: Self.notes)
        #expect(await error { try await refresh(first) } == .invalidTarget)
        let second = try await refresh(first, [Self.files])
        bench.clock.advance(seconds: 3_500)
        #expect(try await use(first) == "notes: offline_access read")
        #expect(try await use(second) == "files: offline_access read")
        let third = try await refresh(second, [Self.files])
        #expect(try await use(first) != nil)
        bench.clock.advance(seconds: 100)
        // Its hour is over.
        #expect(try await use(first) == nil)
        let fourth = try await refresh(third, [Self.files])
        bench.clock.advance(seconds: 9)
        #expect(try await use(third) != nil)
        bench.clock.advance(seconds: 1)
        #expect(try await use(third) == nil)
        #expect(try await use(fourth) == "files: offline_access read")
    }

    @Test("A repeated refresh gets the same token, and none for another service")
    func repeatedRefresh() async throws {
        let first = try await tokens([Self.notes, Self.files], at: Self.notes)
        let second = try await refresh(first, [Self.files])
        #expect(try await refresh(first, [Self.files]).access.reveal() == second.access.reveal())
        for resources in [[Self.notes], [], [Self.notes, Self.files], ["x"]] {
            #expect(await error { try await refresh(first, resources) } == .invalidTarget)
        }
        #expect(try await use(second) == "files: offline_access read")
        // Whatever it names, an old one is in two hands.
        bench.clock.advance(seconds: 11)
        #expect(await error { try await refresh(first, ["x"]) } == .invalidGrant)
        #expect(try await use(second) == nil)
    }

    @Test("A deleted service's tokens end, also if it is registered again; another's stay")
    func deletion() async throws {
        let both = try await tokens([Self.notes, Self.files], at: Self.notes)
        let files = try await refresh(both, [Self.files])
        let only = try await tokens([Self.notes], scope: "openid read offline_access")
        let current = try await tokens([Self.notes, Self.files], at: Self.notes)
        let pending = try await code([Self.notes], scope: "read")
        let old = try #require(try await services.delete(OpenIDClientID(unchecked: "notes"), at: now))
        func check() async throws {
            #expect(try await use(both) == nil)
            #expect(try await use(only) == nil)
            #expect(try await use(current) == nil)
            #expect(await error { try await refresh(only) } == .invalidGrant)
            #expect(await error { try await redeem(pending) } == .invalidGrant)
            #expect(try await use(files) == "files: offline_access read")
        }
        try await check()
        _ = try await services.change(old.id, uri: old.uri, at: now) { service, _ in service.scopes = old.scopes }
        try await check()
        #expect(await error { try await refresh(files, [Self.notes]) } == .invalidTarget)
        // The only one that is left.
        #expect(try await use(refresh(files)) == "files: offline_access read")
    }

    @Test("Revoking a service's token ends it alone")
    func revocation() async throws {
        let first = try await tokens([Self.notes, Self.files], at: Self.notes)
        let second = try await refresh(first, [Self.files])
        let request = try ProviderRequest(
            form([("client_id", "program"), ("token", first.access.reveal())], []), authorization: [])
        try await provider.revoke(request, of: client)
        #expect(try await use(first) == nil)
        #expect(try await use(second) != nil)
    }

    private func basic(_ text: String) -> String { "Basic " + Base64.encode(Array(text.utf8)) }

    @Test("A service authenticates by id and secret, or by its secret alone")
    func authentication() async throws {
        let key = "brk_" + String(repeating: "k", count: 43)
        let cases: [([String], String?)] = [
            ([basic("notes:secret of notes")], "notes"), ([basic("notes:secret+of%20notes")], "notes"),
            (["bearer  secret of files"], "files"), (["Bearer secret of notes"], "notes"),
            ([basic("notes:secret of files")], nil), ([basic("program:secret")], nil), ([basic("notes:")], nil),
            ([basic("notes")], nil), ([basic("x y:secret of notes")], nil), (["Bearer x"], nil), (["Bearer"], nil),
            (["Digest secret of notes"], nil), ([], nil), (["Bearer secret of notes", "Bearer secret of notes"], nil),
            (["Bearer \(key)"], nil), ([basic("notes:\(key)")], nil),
        ]
        for (values, service) in cases {
            #expect(try await provider.service(authorization: values)?.id.rawValue == service, "\(values)")
        }
        #expect(try await database.services().first { $0.id.rawValue == "notes" }?.lastUsedAt == now)
        let outcome = try await services.rotateSecret(
            of: OpenIDClientID(unchecked: "notes"), keepingOld: 60, at: now)
        guard case .saved(_, let secret?, _) = outcome else { throw Unexpected("\(outcome)") }
        #expect(secret.reveal().hasPrefix("bss_"))
        for name in [secret.reveal(), "secret of notes"] {
            #expect(try await provider.service(authorization: ["Bearer \(name)"])?.id.rawValue == "notes")
        }
        bench.clock.advance(seconds: 60)
        #expect(try await provider.service(authorization: ["Bearer secret of notes"]) == nil)
    }

    @Test(
        "A service that cannot work is refused",
        arguments: [
            ("http://api.example.com/x", "http is only for"), ("http://localhost/x", "while publicURL is"),
            ("https://api.example.com/x#y", "fragment"), ("https://a@api.example.com/", "host must be plain"),
            ("https://api.example.com:443/x", "default"), ("com.example.app:/x", "not an https address"),
            ("https://a.example/" + String(repeating: "x", count: 983), "longer than 1000"), (notes, "service notes"),
            ("HTTPS://api.example.com/x", "not an https address"), (files + "/", "service files"),
        ])
    func refusedAddress(uri: String, reason: String) async throws {
        let outcome = try await services.change(OpenIDClientID(unchecked: "new"), uri: uri, at: now) { _, _ in }
        guard case .invalid(let problems) = outcome else { throw Unexpected("\(outcome)") }
        #expect(problems.contains { $0.reason.contains(reason) }, "\(problems)")
    }

    @Test("Names, meanings and scopes have their rules")
    func refusedWords() async throws {
        func problems(_ edit: @escaping @Sendable (inout Service) -> Void) async throws -> [String]? {
            let id = OpenIDClientID(unchecked: "notes")
            let outcome = try await services.change(id, at: now) { service, _ in edit(&service) }
            guard case .invalid(let problems) = outcome else { return nil }
            return problems.map(\.subject)
        }
        let read = try #require(OpenIDScope(rawValue: "read"))
        #expect(try await problems { $0.name = "a\nb" } == ["name"])
        #expect(try await problems { $0.name = String(repeating: "x", count: 101) } == ["name"])
        #expect(try await problems { $0.scopes = [.init(.email, "Read it")] } == ["scope"])
        #expect(try await problems { $0.scopes = [.init(read, "")] } == ["meaning of read"])
        #expect(try await problems { $0.scopes = [.init(read, "a\u{7}")] } == ["meaning of read"])
        #expect(try await problems { $0.scopes = [.init(read, "a"), .init(read, "b")] } == ["scope", "scope"])
        let many = (0...Services.limit).compactMap { OpenIDScope(rawValue: "s\($0)") }.map { Service.Scope($0, "a") }
        #expect(try await problems { $0.scopes = many } == ["scopes"])
        #expect(try await problems { $0.scopes = Array(many.dropFirst()) } == nil)
    }

    @Test("On this machine alone, a service may be on http there")
    func rehearsal() async throws {
        let services = Services(database, isLocal: true, random: SystemRandom())
        for (uri, isAccepted) in [("http://localhost:8000/mcp", true), ("http://api.example.com/", false)] {
            let id = try #require(Service.id(for: uri))
            let outcome = try await services.change(id, uri: uri, at: now) { _, _ in }
            if case .saved = outcome { #expect(isAccepted) } else { #expect(!isAccepted) }
        }
    }

    @Test("An id is made of host and path")
    func ids() {
        for (uri, id) in [
            ("https://api.example.com/mcp", "api-example-com-mcp"), ("http://localhost:8000/", "localhost-8000"),
            ("https://[::1]/A_b%20", "1-a-b-20"), ("nonsense", nil), ("https://--/", nil),
        ] {
            #expect(Service.id(for: uri)?.rawValue == id, "\(uri)")
        }
    }

    @Test("A client may have a service's scopes, and no others")
    func clientScopes() async throws {
        let clients = Clients(database, audiences: [], random: SystemRandom())
        func change(_ scopes: String) async throws -> ClientOutcome {
            try await clients.change(client.id, at: now) { client, _ in client.scopes = OpenIDScope.parse(scopes) }
        }
        guard case .saved = try await change("openid files.write") else { throw StoreError.inconsistent("refused") }
        guard case .invalid(let problems) = try await change("openid files.read") else {
            throw StoreError.inconsistent("accepted")
        }
        #expect(problems.map(\.value) == ["files.read"])
        // What it has already stays possible.
        _ = try await services.delete(OpenIDClientID(unchecked: "files"), at: now)
        guard case .saved = try await change("openid profile files.write") else {
            throw StoreError.inconsistent("refused")
        }
        let list = try await clients.apply(isDryRun: false, at: now) { clients in
            clients.map { client in
                var client = client
                client.scopes = OpenIDScope.parse("openid files.read")
                return client
            }
        }
        #expect(list.refused?.problems.map(\.value) == ["files.read"])
        #expect(try await database.openIDClient(client.id)?.scopes.map(\.rawValue).contains("files.read") == false)
    }
}
