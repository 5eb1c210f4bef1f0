import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Sockets
import TemporaryFolders

/// `apple-simulator` as a process, and its control interface.
struct RunningSimulator: Sendable {
    /// Sign-in forms as Apple's page posts them.
    struct Form: Sendable {
        /// The body of the callback.
        var body: String
        /// Whether it carries `user`, which Apple sends once.
        var hasUser: Bool
        var code: String
    }

    let origin: String
    private let process: ChildProcess
    private let client: WebClient

    /// - Parameter keyPath: the .p8 the server signs its client secrets with.
    static func start(in folder: TemporaryFolder, keyPath: String, on group: EventLoopGroup) async throws
        -> RunningSimulator
    {
        let process = try ChildProcess(
            [
                try Programs.path("apple-simulator"), "--port", "0", "--server-url", ServerPlace.publicURL,
                "--services-id", ServerPlace.servicesID, "--team-id", ServerPlace.teamID,
                "--key-id", ServerPlace.keyID, "--key", keyPath,
            ], directory: folder.path, outputPath: folder.path + "/simulator.log")
        var origin: Substring?
        try await eventually("the simulator says where it is") {
            guard process.ending == nil else {
                throw ChildProcess.DidNotEnd(description: "apple-simulator ended: \(process.output)")
            }
            origin = process.output.firstMatch(of: /is at (http:[^\s]+)\n/)?.output.1
            return origin != nil
        }
        let found = String(origin ?? "")
        return RunningSimulator(origin: found, process: process, client: try WebClient(found, on: group))
    }

    private init(origin: String, process: ChildProcess, client: WebClient) {
        self.origin = origin
        self.process = process
        self.client = client
    }

    @discardableResult
    func control(_ method: HTTPRequest.Method, _ path: String, _ body: JSONObject? = nil) async throws -> JSONObject {
        let text = body.map { String(decoding: JSONWriter.encode(.object($0)), as: UTF8.self) } ?? ""
        let response = try await client.send(method, "/simulator/api/" + path, body: text)
        guard response.status.code == 200 else {
            throw HTTPClientError.malformed("simulator: \(path): \(response.status.code) \(response.text)")
        }
        return try response.json
    }

    func add(_ person: TestPerson) async throws {
        try await control(
            .post, "people",
            [
                "id": .string(person.id), "givenName": .string(person.given), "familyName": .string(person.family),
                "email": .string(person.id + "@example.com"),
            ])
    }

    func add(_ id: String) async throws -> TestPerson {
        let person = TestPerson(id)
        try await add(person)
        return person
    }

    /// The person says yes on Apple's page.
    func authorize(_ person: TestPerson, at location: String) async throws -> Form {
        let answer = try await control(
            .post, "authorize", ["person": .string(person.id), "authorize_url": .string(location)])
        return Form(
            body: answer["form"]?.stringValue ?? "", hasUser: answer["user"] != nil,
            code: answer["code"]?.stringValue ?? "")
    }

    /// Whether a code of this person was redeemed.
    func hasRedeemed(_ person: TestPerson) async throws -> Bool {
        for item in try await control(.get, "people")["items"]?.arrayValue ?? [] {
            guard let item = item.objectValue, item["id"]?.stringValue == person.id else { continue }
            let teams = item["teams"]?.arrayValue ?? []
            return teams.contains { ($0.objectValue?["refreshTokens"]?.int64Value ?? 0) > 0 }
        }
        return false
    }

    /// How many requests hang on a fault.
    func hanging() async throws -> Int64 {
        try await control(.get, "state")["hanging"]?.int64Value ?? 0
    }

    func requests(_ endpoint: String) async throws -> Int64 {
        try await control(.get, "counters")[endpoint]?.objectValue?["requests"]?.int64Value ?? 0
    }
}

/// Somebody with an Apple Account, made for one sign-in.
struct TestPerson: Hashable, Sendable {
    var id: String
    var given: String
    var family: String

    init(_ id: String) {
        self.id = id
        given = "Given-" + id
        family = "Family-" + id
    }
}
