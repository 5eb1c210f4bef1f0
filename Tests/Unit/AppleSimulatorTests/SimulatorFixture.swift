import AppleSimulator
import Coding
import Foundation
import HTTP
import HTTPTypes
import Sockets
import Synchronization

/// Client secrets minted by Vectors/make-client-secrets.py, good at `now`.
enum ClientSecrets {
    private static let file: JSON = {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/client-secrets.json")
        return (try? Data(contentsOf: path)).flatMap { JSON(parsing: Array($0)) } ?? [:]
    }()

    static let now = file["now"]?.integer ?? 0
    static let publicKey = file["publicKey"]?.stringValue ?? ""
    static let recipientPublicKey = file["recipientPublicKey"]?.stringValue ?? ""
    static let p384PublicKey = file["p384PublicKey"]?.stringValue ?? ""
    static func named(_ name: String) -> String { file["secrets"]?[name]?.stringValue ?? "" }
}

final class TestClock: Sendable {
    private let value = Mutex(ClientSecrets.now * 1000)
    func milliseconds() -> Int64 { value.withLock { $0 } }
    func advance(milliseconds: Int64) { value.withLock { $0 += milliseconds } }
}

/// Never the same bytes twice, always the same in every run.
final class TestRandomness: Sendable {
    private let count = Mutex<UInt64>(0)

    func bytes(_ count: Int) -> [UInt8] {
        self.count.withLock { value in
            (0..<count).map { _ in
                // Knuth's linear congruential generator.
                value = value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: value >> 56)
            }
        }
    }
}

/// Takes what the simulator sends to the relying party.
final class TestTransport: HTTPTransport {
    struct State {
        var requests: [ClientRequest] = []
        var answer: Result<HTTPResponse.Status, HTTPClientError> = .success(.ok)
    }

    let state = Mutex(State())

    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return ClientResponse(status: try answer.get())
    }
}

/// One simulator with everything around it.
struct Fixture {
    static let redirectURI = "http://localhost:8080/apple/callback"
    static let rsaKeys = (0..<3).map { _ in RSASigningKey() }

    let clock = TestClock()
    let transport = TestTransport()
    let pauses = Pauses()
    let simulator: Simulator

    final class Pauses: Sendable {
        let values = Mutex<[Int64]>([])
    }

    init() {
        guard let key = ClientKey(pem: ClientSecrets.publicKey),
            let recipientKey = ClientKey(pem: ClientSecrets.recipientPublicKey)
        else { fatalError("Vectors/client-secrets.json holds no keys") }
        var configuration = SimulatorConfiguration(
            serverURL: "http://localhost:8080/", servicesID: "com.example.web", bundleIDs: ["com.example.app"],
            team: SimulatorConfiguration.Team(id: "TEAM123456", keys: ["KEY1234567": key]))
        configuration.teams.append(
            SimulatorConfiguration.Team(id: "TEAM654321", keys: ["KEY7654321": recipientKey]))
        configuration.clients.append(
            SimulatorConfiguration.Client(
                id: "com.example.recipient", team: "TEAM654321", redirectURIs: ["https://recipient.example/cb"]))
        let pauses = pauses
        simulator = Simulator(
            configuration: configuration, transport: transport, clock: clock.milliseconds,
            randomBytes: TestRandomness().bytes, keys: Self.rsaKeys,
            pause: { milliseconds in pauses.values.withLock { $0.append(milliseconds) } })
    }

    // MARK: Requests

    func send(
        _ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields = [:], body: [UInt8] = []
    ) async throws -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let head = HTTPRequest(
            method: method, scheme: "http", authority: "127.0.0.1:9999", path: target, headerFields: fields)
        let response = await simulator.respond(
            to: ServerRequest(
                head: head, path: parts[0], query: parts.count > 1 ? parts[1] : nil, body: body,
                client: .v4(0x7f00_0001), isFromTrustedProxy: false))
        return try await Answer(response)
    }

    func get(_ target: String) async throws -> Answer { try await send(.get, target) }

    func form(_ path: String, _ pairs: [(String, String)], _ fields: HTTPFields = [:]) async throws -> Answer {
        var fields = fields
        fields[.contentType] = "application/x-www-form-urlencoded"
        return try await send(
            .post, path, fields, body: Array(Form.encode(pairs).utf8))
    }

    @discardableResult
    func control(_ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil) async throws -> Answer {
        try await send(method, "/simulator/api/" + path, body: body?.bytes ?? [])
    }

    // MARK: Whole steps

    /// A sign-in without a browser: what the callback would carry.
    func signIn(_ person: String = "ada", _ more: [(String, JSON)] = []) async throws -> JSON {
        var body: JSON = ["person": .string(person), "state": "the-state", "nonce": "the-nonce"]
        for (name, value) in more { body[name] = value }
        return try await control(.post, "authorize", body).json
    }

    /// The claims of the token that a sign-in brings.
    func claims(_ person: String = "ada", _ more: [(String, JSON)] = []) async throws -> JSON {
        JSON.token(try await signIn(person, more)["id_token"]?.stringValue).claims
    }

    /// The code of a sign-in.
    func code() async throws -> String { try await signIn()["code"]?.stringValue ?? "" }

    func exchange(
        _ code: String, secret: String = "good", _ changes: [(String, String?)] = []
    ) async throws -> Answer {
        let pairs = [
            ("client_id", "com.example.web"), ("client_secret", ClientSecrets.named(secret)), ("code", code),
            ("grant_type", "authorization_code"), ("redirect_uri", Self.redirectURI),
        ]
        return try await form("/auth/token", Self.changed(pairs, changes))
    }

    func refresh(_ token: String, secret: String = "good", client: String = "com.example.web") async throws -> Answer {
        try await form(
            "/auth/token",
            [
                ("client_id", client), ("client_secret", ClientSecrets.named(secret)), ("grant_type", "refresh_token"),
                ("refresh_token", token),
            ])
    }

    static func authorizeQuery(_ changes: [(String, String?)] = []) -> String {
        let pairs = [
            ("client_id", "com.example.web"), ("redirect_uri", redirectURI), ("response_type", "code id_token"),
            ("response_mode", "form_post"), ("scope", "name email"), ("state", "the-state"), ("nonce", "the-nonce"),
        ]
        return "/auth/authorize?" + Form.encode(changed(pairs, changes))
    }

    /// - Parameter changes: nil leaves one out.
    private static func changed(_ pairs: [(String, String)], _ changes: [(String, String?)]) -> [(String, String)] {
        let names = Set(changes.map { $0.0 })
        return pairs.filter { !names.contains($0.0) } + changes.compactMap { name, value in value.map { (name, $0) } }
    }
}

struct Answer {
    var status: Int
    var fields: HTTPFields
    var body: [UInt8]
    /// The body stopped on its way.
    var isBroken: Bool

    init(_ response: ServerResponse) async throws {
        status = response.status.code
        fields = response.fields
        var received: [UInt8] = []
        isBroken = false
        switch response.body {
        case .none: break
        case .bytes(let bytes): received = bytes
        case .stream(let produce):
            do { try await produce(BodyWriter { received += $0 }) } catch { isBroken = true }
        }
        body = received
    }

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSON { JSON(parsing: body) ?? .null }

    /// The value of a hidden field of the page.
    func hidden(_ name: String) -> String? {
        text.firstRange(of: "name=\"\(name)\" value=\"").map { range in
            String(text[range.upperBound...].prefix { $0 != "\"" })
        }
    }
}

extension JSON {
    /// Header and claims of a compact JWS.
    static func token(_ text: String?) -> (header: JSON, claims: JSON) {
        let parts = (text ?? "").split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return (.null, .null) }
        return (
            base64URL(parts[0]).flatMap { JSON(parsing: Array($0)) } ?? .null,
            base64URL(parts[1]).flatMap { JSON(parsing: Array($0)) } ?? .null
        )
    }

    static func base64URL(_ text: some StringProtocol) -> Data? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(
            base64Encoded: text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                + padding)
    }
}

enum Form {
    static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { escape($0.0) + "=" + escape($0.1) }.joined(separator: "&")
    }

    static func escape(_ text: String) -> String {
        text.addingPercentEncoding(
            withAllowedCharacters: .alphanumerics.intersection(CharacterSet(charactersIn: "\u{0}"..."\u{7f}")))
            ?? ""
    }

    static func decode(_ text: some StringProtocol) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[String(halves[0])] = halves.count > 1 ? String(halves[1]).removingPercentEncoding : ""
        }
        return fields
    }
}
