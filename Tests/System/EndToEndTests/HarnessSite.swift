import AppleSimulator
import Certificates
import Coding
import Crypto
import Foundation
import IndependentSigning
import LogRecording
import Logging
import Loops
import Sockets
import Storage
import Synchronization
import TemporaryFolders

@testable import Accounts
@testable import Bramley

struct SiteError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// The one clock of a site: the server's and Apple's. Starts at the machine's time and stands still until moved.
final class SiteClock: WallClock {
    private let value = Mutex(SystemClock().now().milliseconds)

    func now() -> Timestamp { Timestamp(milliseconds: milliseconds()) }
    func milliseconds() -> Int64 { value.withLock { $0 } }
    var seconds: Int64 { milliseconds() / 1000 }
    func advance(seconds: Int64) { value.withLock { $0 += seconds * 1000 } }
    func advance(milliseconds: Int64) { value.withLock { $0 += milliseconds } }
}

/// The settings of a test's site.
struct SiteOptions: Sendable {
    /// Groups of the configuration with members to set: `["sessions": ["lifetime": 3600]]`. A member that is not an object
    /// replaces the whole.
    var configuration: [(String, JSON)] = []
    /// Where Apple is; nil: a simulator of this site's own.
    var appleEndpoint: String?
    /// Event loops of the server.
    var loops = 1
    var logLevel = Logger.Level.trace
}

/// The whole system in this process: the real server over a real database, real sockets, and an Apple.
final class Site: Sendable {
    let directory: String
    let publicURL: String
    /// Host and port, as publicURL has them.
    let authority: String
    let clock: SiteClock
    let apple: Apple
    let log: LogRecorder
    private let options: SiteOptions
    /// The connection string; nil for a database of SQLite's.
    let postgres: String?

    private struct Running: Sendable {
        var server: PreparedServer
        var task: Task<Void, any Error>
    }

    private let running = Mutex<Running?>(nil)

    fileprivate init(options: SiteOptions, directory: String, sockets: BoundSockets, apple: Apple, clock: SiteClock)
        throws
    {
        self.options = options
        self.directory = directory
        self.clock = clock
        self.apple = apple
        log = LogRecorder(level: options.logLevel)
        postgres = SitePostgres.isWanted ? try SitePostgres.shared.get().makeDatabase() : nil
        if postgres != nil {
            // All servers of one database have the same, so none makes it.
            try FileManager.default.createDirectory(
                atPath: directory + "/data", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Self.write(
                Array(Hexadecimal.encode(SystemRandom().bytes(32)).utf8), to: directory + "/data/sealing.key")
        }
        authority = "localhost:\(sockets.address.port)"
        publicURL = "http://" + authority
        try start(on: sockets, options)
    }

    // MARK: Running

    /// The port visitors reach now; another one after a restart. publicURL stays.
    var port: UInt16 { running.withLock { $0?.server.address.port ?? 0 } }
    var adminPort: UInt16 { running.withLock { $0?.server.adminAddress.port ?? 0 } }
    var origin: String { "http://" + authority }
    var databasePath: String { directory + "/data/bramley.db" }

    private func start(on sockets: BoundSockets, _ options: SiteOptions) throws {
        let configuration = try Self.configuration(
            options, directory: directory, publicURL: publicURL, apple: apple, postgres: postgres)
        let bound = Listeners(visitors: sockets, admin: try BoundSockets.local())
        var inherited = InheritedDescriptors()
        let parts = try ServerParts.open(
            configuration, readFrom: Self.input(directory), inherited: &inherited,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger))
        let server = try PreparedServer(
            parts, bound: bound, inherited: inherited, notices: ServiceNotices(environment: [:], logger: log.logger))
        let task = Task.detached(executorPreference: ThreadPerJob.shared) { try await server.run() }
        running.withLock { $0 = Running(server: server, task: task) }
    }

    /// Takes the server down in order; nothing listens until `start`.
    func stop() async throws {
        guard
            let running = running.withLock({ running in
                defer { running = nil }
                return running
            })
        else { return }
        running.server.stop(abortAfter: 500)
        try await running.task.value
        running.server.close()
    }

    /// As a new process would: same data directory, empty caches.
    /// - Parameter configuration: instead of what the site began with.
    func restart(with configuration: [(String, JSON)]? = nil) async throws {
        try await stop()
        var options = options
        if let configuration { options.configuration = configuration }
        try start(on: BoundSockets.local(count: options.loops), options)
    }

    /// What SIGHUP does.
    func reloadKeys() { running.withLock { $0?.server.parts.reload.reload() } }

    // MARK: Looking inside

    func browser(source: UInt32? = nil) -> Browser { Browser(self, source: source) }

    /// A browser in which that person has signed in.
    func signedIn(as person: String = "ada") async throws -> Browser {
        let browser = browser()
        try await browser.signIn(as: person)
        return browser
    }

    /// A browser whose person says yes at Apple, and what Apple's page would now post.
    func consent(as person: String = "ada", returnTo: String? = nil) async throws -> (Browser, Form) {
        let browser = browser()
        return (browser, try await browser.consent(as: person, returnTo: returnTo))
    }

    /// One value of the database, read by another implementation in another process.
    func query(_ sql: String) async throws -> String {
        guard let postgres else { return try await IndependentSigner.shared.query(databasePath, sql) }
        return try await blocking { try SitePostgres.shared.get().query(postgres, sql) }
    }

    func count(_ table: String) async throws -> Int { Int(try await query("SELECT count(*) FROM \"\(table)\"")) ?? -1 }

    // MARK: Configuration

    private static func configuration(
        _ options: SiteOptions, directory: String, publicURL: String, apple: Apple, postgres: String?
    ) throws -> Configuration {
        let endpoint = options.appleEndpoint ?? apple.origin
        var json: JSON = [
            "publicURL": .string(publicURL), "access": ["signUp": "open"],
            "server": ["threads": .integer(Int64(options.loops)), "drainTimeout": 2],
            "apple": [
                "servicesID": .string(Apple.servicesID), "bundleIDs": [.string(Apple.bundleID)],
                "teamID": .string(Apple.teamID), "keyID": .string(Apple.keyID),
                "privateKeyFile": .string(directory + "/AuthKey.p8"), "scopes": ["name", "email"],
                "endpoint": .string(endpoint), "scriptURL": .string(endpoint + "/script/{locale}/appleid.auth.js"),
            ],
            "storage": ["directory": .string(directory + "/data")],
        ]
        if let postgres {
            json["storage"] = ["directory": .string(directory + "/data"), "postgres": ["url": .string(postgres)]]
        }
        for (group, changes) in options.configuration {
            guard changes.objectValue != nil, var all = json[group] else {
                json[group] = changes
                continue
            }
            for member in changes.members { all[member.name] = member.value }
            json[group] = all
        }
        try write(Array(TestKeys.first.utf8), to: directory + "/AuthKey.p8")
        try write(json.bytes, to: directory + "/config.json")
        return try ConfigurationLoader.load(input(directory)).configuration
    }

    private static func input(_ directory: String) -> ConfigurationInput {
        ConfigurationInput(path: directory + "/config.json")
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { throw SiteError("\(path) cannot be written") }
    }
}

private let turnstile = Turnstile(6)

/// Runs `body` with a site of its own, and stops everything afterwards.
func withSite(_ options: SiteOptions = SiteOptions(), _ body: (Site) async throws -> Void) async throws {
    await turnstile.enter()
    defer { turnstile.leave() }
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let clock = SiteClock()
    let sockets = try BoundSockets.local(count: options.loops)
    guard let key = ClientKey(pem: TestKeys.first) else { throw SiteError("the key is no P-256 key") }
    let address = sockets.address
    var apple = SimulatorConfiguration(
        serverURL: "http://localhost:\(address.port)", servicesID: Apple.servicesID,
        bundleIDs: [Apple.bundleID],
        team: SimulatorConfiguration.Team(id: Apple.teamID, keys: [Apple.keyID: key]))
    apple.notificationURL = "http://127.0.0.1:\(address.port)/apple/notifications"
    apple.keyCount = 1
    let simulator = try SimulatorServer(
        configuration: apple, address: SocketAddress(ip: .v4(0x7F00_0001), port: 0), clock: clock.milliseconds,
        keys: Apple.rsaKeys, logger: .silent)
    let simulating = Task.detached(executorPreference: ThreadPerJob.shared) { try await simulator.run() }
    let outcome: Result<Void, any Error>
    do {
        let site = try Site(
            options: options, directory: folder.path, sockets: sockets, apple: Apple(port: simulator.address.port),
            clock: clock)
        do {
            try await withTaskExecutorPreference(ThreadPerJob.shared) { try await body(site) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        simulator.stop()
        try await site.stop()
    } catch {
        simulator.stop()
        try await simulating.value
        throw error
    }
    try await simulating.value
    try outcome.get()
}

/// A site, and a browser in which somebody has signed in.
/// - Parameter signersKeys: Apple publishes the independent signer's keys.
func withSignedIn(signersKeys: Bool = false, _ body: (Site, Browser) async throws -> Void) async throws {
    try await withSite { (site: Site) async throws in
        if signersKeys { try await site.publishSignersKeys() }
        try await body(site, site.signedIn())
    }
}

/// A site, a browser whose person says yes at Apple, and what Apple's page would now post.
func withConsent(signersKeys: Bool = false, _ body: (Site, Browser, Form) async throws -> Void) async throws {
    try await withSite { (site: Site) async throws in
        if signersKeys { try await site.publishSignersKeys() }
        let (browser, form) = try await site.consent()
        try await body(site, browser, form)
    }
}

/// Every line the server writes, by its own log handler.
final class LogRecorder: LogSink {
    private let storage = Mutex<[String]>([])
    private let level: Logger.Level

    init(level: Logger.Level) { self.level = level }

    var lines: [String] { storage.withLock { $0 } }
    var text: String { lines.joined() }

    func write(_ line: [UInt8]) { storage.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }

    var logger: Logger {
        Logger(label: "bramley") { label in
            LineLogHandler(
                label: label, level: self.level, format: .json, sink: self, now: { Timestamp(milliseconds: 0) })
        }
    }
}
