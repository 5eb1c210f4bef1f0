import AppleSimulator
import Coding
import Foundation
import HTTP
import HTTPTypes
import LogRecording
import Loops
import Sockets
import Synchronization

/// Apple, as the server under test reaches it: the simulator, worked through its control interface over HTTP.
struct Apple: Sendable {
    static let servicesID = "com.example.web"
    static let bundleID = "com.example.app"
    static let teamID = "TEAM123456"
    static let keyID = "KEY1234567"
    static let issuer = "https://appleid.apple.com"
    /// Two for all simulators of this process: making one takes a tenth of a second.
    static let rsaKeys = (0..<2).map { _ in RSASigningKey() }

    let port: UInt16
    var origin: String { "http://127.0.0.1:\(port)" }

    /// One operation of the control interface (docs/reference/simulator.md).
    @discardableResult
    func control(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let response = try await send(method, "/simulator/api/" + path, body?.bytes)
        guard response.status == 200, let json = JSON(parsing: response.body) else {
            throw SiteError("\(method) \(path) of the simulator answered \(response.status): \(response.text)")
        }
        return json
    }

    func send(_ method: String, _ target: String, _ body: [UInt8]? = nil) async throws -> WireResponse {
        var request = WireRequest(method: method, target: target, body: body, context: .program)
        if body != nil { request.fields.append(("Content-Type", "application/json")) }
        let bytes = request.bytes(host: "127.0.0.1:\(port)", cookies: nil)
        let port = port
        return try await blocking {
            let connection = try WireConnection(port: port)
            connection.send(bytes)
            return try connection.response()
        }
    }

    /// A person says yes to this authorize URL: the form Apple's page posts.
    func authorize(_ url: String, as person: String = "ada", _ more: [(String, JSON)] = []) async throws -> Form {
        var body: JSON = ["person": .string(person), "authorize_url": .string(url)]
        for (name, value) in more { body[name] = value }
        let answer = try await control("POST", "authorize", body)
        let names = ["state", "code", "id_token", "user", "error"]
        return Form(names.compactMap { name in answer[name]?.stringValue.map { (name, $0) } })
    }

    /// A notification of Apple's, made and not delivered: the body of its post.
    func notification(_ type: String, about person: String, _ more: [(String, JSON)] = []) async throws -> [UInt8] {
        var body: JSON = ["type": .string(type), "person": .string(person), "deliver": false, "effect": false]
        for (name, value) in more { body[name] = value }
        let answer = try await control("POST", "notifications", body)
        let payload: JSON = ["payload": .string(answer["payload"]?.stringValue ?? "")]
        return payload.bytes
    }

    func subject(of person: String) async throws -> String {
        let people = try await control("GET", "people")["items"]?.arrayValue ?? []
        let entry = people.first { $0["id"]?.stringValue == person }
        return entry?["teams"]?.arrayValue?.first?["sub"]?.stringValue ?? ""
    }

    func requests(to endpoint: String) async throws -> Int {
        let counters = try await control("GET", "counters")
        return Int(counters[endpoint]?["requests"]?.integer ?? 0)
    }
}

/// An endpoint in this process that answers what a test says, instead of Apple: the key set and the token endpoint.
final class StubApple: RequestHandler, Sendable {
    struct Answers: Sendable {
        /// The body of `/auth/keys`.
        var keys = "{\"keys\":[]}"
        /// What `/auth/token` answers to a form.
        var token: @Sendable (String) -> (status: Int, body: String) = { _ in (400, "{\"error\":\"invalid_grant\"}") }
        /// Status of `/auth/keys`.
        var keysStatus = 200
    }

    struct Seen: Sendable {
        var forms: [String] = []
    }

    let answers = Mutex(Answers())
    let seen = Mutex(Seen())

    func respond(to request: ServerRequest) async -> ServerResponse {
        let body = String(decoding: request.body, as: UTF8.self)
        if request.path == "/auth/token" { seen.withLock { $0.forms.append(body) } }
        let answers = answers.withLock { $0 }
        switch request.path {
        case "/auth/keys": return Self.json(answers.keysStatus, answers.keys)
        case "/auth/token":
            let answer = answers.token(body)
            return Self.json(answer.status, answer.body)
        default: return ServerResponse(status: .notFound)
        }
    }

    private static func json(_ status: Int, _ text: String) -> ServerResponse {
        ServerResponse(
            status: HTTPResponse.Status(code: status), fields: [.contentType: "application/json"],
            body: .bytes(Array(text.utf8)))
    }

    /// Serves on a port of 127.0.0.1 while `body` runs.
    func serving<Value: Sendable>(_ body: (_ origin: String) async throws -> Value) async throws -> Value {
        let sockets = try BoundSockets.local()
        return try await withLoops(
            isInner: true,
            servingWith: { loop in
                let server = HTTPLoop(
                    loop: loop, configuration: HTTPServerConfiguration(), handler: self, wallClock: { 0 },
                    logger: .silent)
                _ = try? Listener.start(
                    sockets, on: loop, admission: AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000))
                return { await server.serve($0) }
            }
        ) { _ in
            try await body("http://127.0.0.1:\(sockets.address.port)")
        }
    }
}
