import Certificates
import ChildProcesses
import Foundation
import HTTP
import HTTPTypes
import Sockets
import Synchronization
import TemporaryFolders

/// Everything one `bramley serve` needs, on a loopback address of its own, so that no two servers of a test run meet
/// and none meets the ports that clients are given.
final class ServerPlace: Sendable {
    static let publicURL = "http://localhost:8080"
    static let servicesID = "com.example.web"
    static let teamID = "TEAM123456"
    static let keyID = "KEY1234567"

    let folder: TemporaryFolder
    let host: String
    /// `host` as a number.
    let address: UInt32
    let keyPath: String
    let configurationPath: String
    var dataDirectory: String { folder.path + "/data" }
    var databasePath: String { dataDirectory + "/bramley.db" }
    var logPath: String { folder.path + "/server.log" }
    var origin: String { "http://\(host):8080" }
    var adminOrigin: String { "http://\(host):9090" }

    private static let taken = Mutex(UInt32(0))

    /// A place whose Apple is a simulator of its own.
    static func besideApple(on group: EventLoopGroup) async throws -> (ServerPlace, RunningSimulator) {
        let place = try ServerPlace()
        let simulator = try await RunningSimulator.start(in: place.folder, keyPath: place.keyPath, on: group)
        try place.configure(apple: simulator.origin)
        return (place, simulator)
    }

    /// - Parameters:
    ///   - apple: where Apple is; may be set later, with `configure`.
    init(apple: String = "http://127.0.0.1:9", drainTimeout: Int = 10) throws {
        let number = Self.taken.withLock { count in
            count += 1
            return count
        }
        // 127.64.0.0/10: by process and count.
        let process = UInt32(truncatingIfNeeded: ProcessInfo.processInfo.processIdentifier) & 0x3FFF
        address = 0x7F40_0000 | process << 8 | (number & 0xFF)
        host = "\(address >> 24).\(address >> 16 & 0xFF).\(address >> 8 & 0xFF).\(address & 0xFF)"
        folder = try TemporaryFolder(mode: 0o755)
        keyPath = try folder.write(TestKeys.first, to: "AuthKey.p8")
        configurationPath = folder.path + "/config.json"
        try configure(apple: apple, drainTimeout: drainTimeout)
    }

    func configure(apple: String, drainTimeout: Int = 10, dataDirectory: String? = nil) throws {
        try folder.write(
            """
            {
                "publicURL": "\(Self.publicURL)",
                "access": { "signUp": "open" },
                "server": {
                    "host": "\(host)", "port": 8080, "drainTimeout": \(drainTimeout),
                    "trustedProxies": ["127.0.0.0/8"], "threads": 2
                },
                "admin": { "host": "\(host)", "port": 9090 },
                "apple": {
                    "servicesID": "\(Self.servicesID)", "bundleIDs": ["com.example.app"],
                    "teamID": "\(Self.teamID)", "keyID": "\(Self.keyID)",
                    "privateKeyFile": "\(keyPath)", "scopes": ["name", "email"], "endpoint": "\(apple)",
                    "scriptURL": "http://127.0.0.1:9/appleid.auth.js"
                },
                "storage": { "directory": "\(dataDirectory ?? self.dataDirectory)" },
                "log": { "level": "debug", "format": "text" }
            }
            """, to: "config.json")
    }

    /// The command line of `bramley`.
    func command(_ arguments: String...) throws -> [String] {
        [try Programs.path("bramley")] + arguments + ["--config", configurationPath]
    }

    /// Starts `serve` without waiting for it.
    func launch(prefix: [String] = [], environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(
            prefix + command("serve"), environment: environment, directory: folder.path, outputPath: logPath)
    }

    /// Starts `serve` and waits for its first answer.
    func start(
        on group: EventLoopGroup, prefix: [String] = [], environment: [String: String] = [:]
    ) async throws -> RunningServer {
        let process = try launch(prefix: prefix, environment: environment)
        let client = try WebClient(origin, on: group)
        try await eventually(within: .seconds(20), "the server answers") {
            guard process.ending == nil else {
                throw ChildProcess.DidNotEnd(description: "bramley ended: \(process.output.suffix(2000))")
            }
            return (try? await client.get("/auth/verify", timeout: 2000)) != nil
        }
        return RunningServer(
            place: self, process: process, client: client,
            admin: try WebClient(adminOrigin, on: group))
    }
}

struct RunningServer: Sendable {
    let place: ServerPlace
    let process: ChildProcess
    let client: WebClient
    let admin: WebClient

    /// What a browser holds between the tap and Apple's answer.
    struct Attempt: Sendable {
        var binding: String
        /// Where the browser is sent.
        var location: String
        /// An address of its own, so that the rate limit of one client stays out of it.
        var address: String
    }

    static let bindingCookie = "__Host-bramley-login"
    static let sessionCookie = "__Host-bramley"

    private static func cookies(_ pairs: [(String, String?)]) -> String {
        pairs.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: "; ")
    }

    /// The tap on the button.
    /// - Parameter session: the session the browser has, which the new one replaces.
    func begin(from address: String, session: String? = nil) async throws -> Attempt {
        var fields: HTTPFields = [.forwardedForField: address]
        if let session { fields[.cookie] = Self.cookies([(Self.sessionCookie, session)]) }
        let response = try await client.get("/login/apple", fields)
        guard response.status.code == 303, let location = response.fields[.location],
            let binding = response.cookie(Self.bindingCookie)
        else { throw HTTPClientError.malformed("/login/apple: \(response.status.code)") }
        return Attempt(binding: binding, location: location, address: address)
    }

    /// Apple's form arrives through the browser.
    func callback(_ attempt: Attempt, _ body: String, session: String? = nil) async throws -> ClientResponse {
        try await client.send(
            .post, "/apple/callback",
            [
                .contentType: "application/x-www-form-urlencoded", .origin: "http://127.0.0.1",
                .forwardedForField: attempt.address,
                .cookie: Self.cookies([(Self.bindingCookie, attempt.binding), (Self.sessionCookie, session)]),
            ], body: body)
    }

    /// A whole sign-in; the session's token.
    func signIn(_ person: TestPerson, at simulator: RunningSimulator, from address: String) async throws -> String {
        let attempt = try await begin(from: address)
        let form = try await simulator.authorize(person, at: attempt.location)
        let response = try await callback(attempt, form.body)
        guard response.status.code == 303, let token = response.cookie(Self.sessionCookie) else {
            throw HTTPClientError.malformed("sign-in: \(response.status.code) \(response.text.suffix(600))")
        }
        return token
    }

    /// Sign-ins of so many new people, each from an address of its own in this network.
    func signIn(
        _ count: Int, _ name: String, at simulator: RunningSimulator, from network: String
    ) async throws -> [String] {
        var tokens: [String] = []
        for number in 0..<count {
            let person = try await simulator.add("\(name)p\(number)")
            tokens.append(try await signIn(person, at: simulator, from: "\(network).\(number)"))
        }
        return tokens
    }

    func verify(_ token: String) async throws -> ClientResponse {
        try await client.get("/auth/verify", [.cookie: Self.cookies([(Self.sessionCookie, token)])])
    }

    func session(_ token: String) async throws -> ClientResponse {
        try await client.get("/api/v1/session", [.cookie: Self.cookies([(Self.sessionCookie, token)])])
    }

    /// `POST /logout`, as the button on the page does.
    func signOut(_ token: String) async throws -> ClientResponse {
        try await client.send(
            .post, "/logout",
            [
                .cookie: Self.cookies([(Self.sessionCookie, token)]), .secFetchSiteField: "same-origin",
                .contentType: "application/x-www-form-urlencoded",
            ])
    }

    /// `DELETE /api/v1/session`, as a script of the page does.
    func deleteSession(_ token: String) async throws -> ClientResponse {
        try await client.send(
            .delete, "/api/v1/session",
            [.cookie: Self.cookies([(Self.sessionCookie, token)]), .secFetchSiteField: "same-origin"])
    }

    /// SIGTERM, and how it ended.
    @discardableResult
    func stop() async -> ChildProcess.Ending {
        process.signal(SIGTERM)
        return await process.waitUntilEnded(within: .seconds(40))
    }
}
