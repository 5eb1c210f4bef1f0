import Coding
import Gates
import Stores
import Synchronization
import Testing

@testable import Accounts

/// What a client's metadata document must say, and how it is kept.
@Suite struct ClientDocumentTests {
    private let host = Host()
    private static let url = "https://app.example/client.json"

    /// A good one with these members replaced; nil leaves one out.
    private static func text(_ changes: [String: String?] = [:]) -> String {
        let members: [String: String?] = [
            "client_id": "\"\(url)\"", "client_name": "\"Notes\"", "redirect_uris": "[\"https://app.example/cb\"]",
        ].merging(changes) { $1 }
        let pairs = members.compactMap { name, value in value.map { "\"\(name)\": \($0)" } }
        return "{\(pairs.sorted().joined(separator: ", "))}"
    }

    private static func read(_ text: String) -> Result<ClientDocument, Failure> {
        Result { () throws(Failure) in try ClientDocument(Array(text.utf8), at: url) }
    }

    private static func refusal(_ text: String) -> String? {
        guard case .failure(let failure) = read(text) else { return nil }
        return failure.detail
    }

    @Test(
        "accepted",
        arguments: [
            [:], ["token_endpoint_auth_method": "\"none\""],
            [
                "token_endpoint_auth_method": "\"private_key_jwt\"",
                "token_endpoint_auth_methods_supported": "[\"private_key_jwt\", \"none\"]",
            ],
            ["jwks": "{\"keys\": [{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"a\", \"y\": \"b\"}]}"],
            ["jwks_uri": "\"http://127.0.0.1/\"", "logo_uri": "\"http://10.0.0.1/\"", "software_statement": "\"x\""],
            ["grant_types": "[\"authorization_code\", \"urn:x\"]", "response_types": "[\"code\"]", "x": "{}"],
            ["client_name": "\"\(String(repeating: "n", count: 100))\""],
            ["redirect_uris": "[\"http://localhost/callback\", \"http://127.0.0.1/callback\"]"],
        ] as [[String: String?]])
    func accepted(changes: [String: String?]) {
        #expect(Self.refusal(Self.text(changes)) == nil)
    }

    @Test(
        "refused, with a reason that repeats nothing of it",
        arguments: [
            (["client_id": nil], "its client_id is not its address"),
            (["client_id": "\"https://app.example/client.json#\""], "its client_id is not its address"),
            (["client_id": "\"https://app.example:443/client.json\""], "its client_id is not its address"),
            (["client_id": "\"https://APP.example/client.json\""], "its client_id is not its address"),
            (["client_id": "[\"https://app.example/client.json\"]"], "its client_id is not its address"),
            (["client_name": nil], "it has no client_name"), (["client_name": "7"], "it has no client_name"),
            (["client_name": "\"\""], "its client_name is not"),
            (["client_name": "\"a\\nb\""], "its client_name is not"),
            (["client_name": "\"\(String(repeating: "n", count: 101))\""], "its client_name is not"),
            (["client_name": "\"Not\\u202eseton\""], "its client_name is not"),
            (["client_name": "\"\\u200b \\u3164\""], "its client_name is not"),
            (["redirect_uris": nil], "its redirect_uris are not"),
            (["redirect_uris": "\"https://a/\""], "its redirect_uris"),
            (["redirect_uris": "[7]"], "its redirect_uris are not"), (["redirect_uris": "[]"], "it has 0 usable"),
            (["redirect_uris": "[\"com.example.app:/cb\", \"javascript:alert(1)\"]"], "it has 0 usable"),
            (["redirect_uris": "[\"http://app.example/cb\", \"https://a@b/\"]"], "it has 0 usable"),
            (["client_secret": "\"s\""], "it has a client_secret"),
            (["client_secret_expires_at": "0"], "it has a client_secret"),
            (["token_endpoint_auth_method": "\"client_secret_basic\""], "a shared secret"),
            (["token_endpoint_auth_method": "\"client_secret_jwt\""], "a shared secret"),
            (["token_endpoint_auth_methods_supported": "[\"none\", \"client_secret_post\"]"], "a shared secret"),
            (["token_endpoint_auth_method": "\"private_key_jwt\""], "none is not among"),
            (["token_endpoint_auth_method": "7"], "is not text"),
            (["token_endpoint_auth_methods_supported": "\"none\""], "is not text"),
            (["jwks": "{\"keys\": [{\"kty\": \"EC\"}, {\"kty\": \"EC\", \"d\": \"x\"}]}"], "it has a private key"),
            (["jwks": "{\"keys\": [{\"kty\": \"oct\", \"k\": \"x\"}]}"], "it has a private key"),
        ] as [([String: String?], String)])
    func refused(changes: [String: String?], reason: String) throws {
        let refusal = try #require(Self.refusal(Self.text(changes)))
        #expect(refusal.hasPrefix("client document refused, app.example: ") && refusal.contains(reason))
    }

    @Test(
        "not one JSON object",
        arguments: [
            "", "[]", "null", "{", "{} {}", text() + "x", text().replacing("}", with: ", \"client_id\": \"x\"}"),
            "{\"a\": \(String(repeating: "[", count: 5_000))}", "\u{FEFF}" + text(),
        ])
    func notJSON(text: String) throws {
        #expect(try #require(Self.refusal(text)).hasPrefix("client document refused, app.example: it is not "))
    }

    @Test("at most 16,384 bytes, and at most 50 addresses")
    func size() {
        let padding = String(repeating: " ", count: ClientDocument.maximumSize - Self.text().utf8.count)
        #expect(Self.refusal(Self.text() + padding) == nil)
        #expect(Self.refusal(Self.text() + padding + " ")?.contains("longer than 16384 bytes") == true)
        func uris(_ count: Int) -> String {
            Self.text(["redirect_uris": "[\((1...count).map { "\"https://a.example/\($0)\"" }.joined(separator: ","))]"]
            )
        }
        #expect(Self.refusal(uris(50)) == nil)
        #expect(Self.refusal(uris(51))?.contains("51 usable") == true)
    }

    @Test("unusable redirect URIs are ignored")
    func redirects() throws {
        let uris = "[\"com.example:/x\", \"https://app.example/cb\", \"http://app.example/\", \"http://[::1]/cb\"]"
        #expect(
            try Self.read(Self.text(["redirect_uris": uris])).get().redirectURIs
                == ["https://app.example/cb", "http://[::1]/cb"])
    }

    @Test(
        "addresses of documents (client ID metadata documents §3)",
        arguments: [
            ("https://app.example/client.json", true), ("https://app.example/", true),
            ("https://app.example:8443/a?b=c", true), ("https://localhost/x", true), ("https://a.b-c.example/~x", true),
            ("https://app.example", false), ("https://app.example?x", false), ("http://app.example/x", false),
            ("HTTPS://app.example/x", false), ("https://App.example/x", false), ("https://app.example./x", false),
            ("https://a@app.example/x", false), ("https://a:b@app.example/x", false),
            ("https://app.example/x#", false), ("https://app.example/x#y", false), ("https://app.example/./x", false),
            ("https://app.example/a/..", false), ("https://app.example/a/%2e%2E/b", false),
            ("https://app.example/a\\b", false), ("https://app.example/ü", false), ("https://bücher.example/", false),
            ("https://app.example:0/x", false), ("https://app.example:65536/x", false),
            ("https://app.example:/x", false),
            ("https://127.0.0.1/x", false), ("https://8.8.8.8/x", false), ("https://[::1]/x", false),
            ("https://[2606:4700::1]/x", false), ("https://2130706433/x", false), ("https://0x7f000001/x", false),
            ("https://0x7f.1/x", false), ("https://0177.0.0.1/x", false), ("https://127.1/x", false),
            ("https://a..example/x", false), ("https://-a.example/x", false), ("https://a_b.example/x", false),
            ("https://a.example,https://b.example/x", false), ("https:///x", false), ("ftp://a.example/x", false),
            ("https://app.example/" + String(repeating: "x", count: 980), true),
            ("https://app.example/" + String(repeating: "x", count: 981), false),
        ])
    func address(url: String, isOne: Bool) {
        #expect((OpenIDClientID(named: url) != nil) == isOne)
    }

    @Test("a document's id is plain, its own, and reserved; others that begin alike are not")
    func ids() throws {
        let id = OpenIDClientID(document: Self.url)
        #expect(OpenIDClientID(parsing: id.rawValue) == id && id.isReserved)
        #expect(id != OpenIDClientID(document: Self.url + "?"))
        #expect(!OpenIDClientID(unchecked: "doc-viewer").isReserved)
    }

    /// A host with set answers, which counts what it is asked.
    private final class Host: Sendable {
        let clock = ManualClock()
        let gate = Gate()
        private let state = Mutex((answer: DocumentAnswer.failed("nothing"), asked: [String]()))

        var asked: [String] { state.withLock { $0.asked } }
        func say(_ answer: DocumentAnswer) { state.withLock { $0.answer = answer } }

        func documents(_ hosts: [String] = ["app.example"]) -> ClientDocuments {
            ClientDocuments(hosts: hosts, clock: clock) { url in
                self.state.withLock { $0.asked.append(url) }
                await self.gate.pass()
                return self.state.withLock { $0.answer }
            }
        }
    }

    private static func content(_ lifetime: Int64, name: String = "Notes", url: String = url) -> DocumentAnswer {
        .content(Array(text(["client_name": "\"\(name)\"", "client_id": "\"\(url)\""]).utf8), lifetime: lifetime)
    }

    private static func name(_ documents: ClientDocuments, _ url: String = url) async -> String {
        do throws(Failure) {
            return try await documents.document(at: url).document.name
        } catch {
            return error.code == .tooManyRequests ? "later" : "refused"
        }
    }

    @Test(
        "a valid one is kept as its fields say, between 5 minutes and a day",
        arguments: [(0, 300), (-9, 300), (299, 300), (3_600, 3_600), (86_400, 86_400), (31_536_000, 86_400)])
    func lifetime(said: Int64, kept: Int64) async {
        let documents = host.documents()
        host.say(Self.content(said))
        for seconds in [0, kept - 1, 1] {
            host.clock.advance(seconds: seconds)
            #expect(await Self.name(documents) == "Notes")
        }
        #expect(host.asked.count == 2)
    }

    @Test("errors and malformed documents are never kept", arguments: [true, false])
    func errors(isMalformed: Bool) async {
        let documents = host.documents()
        host.say(isMalformed ? .content(Array("{}".utf8), lifetime: 3_600) : .refused("status 404"))
        #expect(await Self.name(documents) == "refused")
        host.say(Self.content(3_600))
        #expect(await Self.name(documents) == "Notes")
        // And one that is withdrawn is no longer served.
        host.clock.advance(seconds: 3_600)
        host.say(isMalformed ? .content(Array("{}".utf8), lifetime: 3_600) : .refused("status 404"))
        #expect(await Self.name(documents) == "refused")
        host.say(.failed("timeout"))
        #expect(await Self.name(documents) == "refused")
    }

    @Test("the last valid one serves for a day while its host fails")
    func failing() async {
        let documents = host.documents()
        host.say(Self.content(300))
        #expect(await Self.name(documents) == "Notes")
        host.say(.failed("timeout"))
        host.clock.advance(seconds: 300 + ClientDocuments.grace - 1)
        #expect(await Self.name(documents) == "Notes")
        #expect(host.asked.count == 2)
        host.clock.advance(seconds: 1)
        #expect(await Self.name(documents) == "refused")
    }

    @Test("one fetch at a time for a document, whose outcome all who wait get")
    func oneFetch() async {
        let documents = host.documents()
        host.say(Self.content(300))
        host.gate.shut()
        await withTaskGroup(of: String.self) { group in
            for _ in 1...20 { group.addTask { await Self.name(documents) } }
            await host.gate.arrived(1)
            host.gate.open()
            for await name in group { #expect(name == "Notes") }
        }
        #expect(host.asked.count == 1)
    }

    @Test("few fetches per minute: from a host, and in all")
    func limits() async {
        let documents = host.documents(["*"])
        host.say(.refused("status 404"))
        func ask(_ url: String, _ count: Int) async -> [String] {
            var answers: [String] = []
            for _ in 1...count { answers.append(await Self.name(documents, url)) }
            return answers
        }
        let first = await ask(Self.url, ClientDocuments.fetchesPerHost + 1)
        #expect(first.count { $0 == "refused" } == ClientDocuments.fetchesPerHost && first.last == "later")
        for number in 1...100 { _ = await ask("https://h\(number).example/x", 2) }
        #expect(host.asked.count == ClientDocuments.fetchesPerMinute)
        host.clock.advance(seconds: 60)
        #expect(await Self.name(documents) == "refused")
    }

    @Test("beyond the limit, the last valid one serves")
    func limitedButKnown() async {
        let documents = host.documents()
        host.say(Self.content(300))
        #expect(await Self.name(documents) == "Notes")
        host.clock.advance(seconds: 300)
        host.say(.refused("status 404"))
        for _ in 1...ClientDocuments.fetchesPerHost { _ = await Self.name(documents, "https://app.example/other") }
        #expect(await Self.name(documents) == "Notes")
        #expect(host.asked.count == ClientDocuments.fetchesPerHost + 1)
    }

    @Test("memory is bounded: the oldest document makes room")
    func memory() async {
        let documents = host.documents(["*"])
        func url(_ number: Int) -> String { "https://h\(number).example/x" }
        for number in 0...ClientDocuments.capacity {
            host.clock.advance(seconds: 60)
            host.say(Self.content(86_400, url: url(number)))
            #expect(await Self.name(documents, url(number)) == "Notes")
        }
        let before = host.asked.count
        #expect(await Self.name(documents, url(1)) == "Notes")
        #expect(host.asked.count == before)
        #expect(await Self.name(documents, url(0)) == "refused")
        #expect(host.asked.count == before + 1)
    }

    @Test("only allowed hosts are asked, exactly; a removed one is refused at once")
    func hosts() async {
        let documents = host.documents()
        host.say(Self.content(86_400))
        for url in ["https://other.example/x", "https://a.app.example/x", "https://example/x"] {
            #expect(await Self.name(documents, url) == "refused")
        }
        #expect(host.asked.isEmpty)
        #expect(await Self.name(documents) == "Notes")
        documents.hosts = []
        #expect(await Self.name(documents) == "refused")
        #expect(host.asked.count == 1)
    }
}
