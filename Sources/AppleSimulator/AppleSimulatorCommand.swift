import ArgumentParser
import FoundationEssentials
import Glibc
import HTTP
import Logging
import Sockets
import UnixSignals

@main
struct AppleSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple-simulator",
        abstract: "A local stand-in for Apple's Sign in with Apple servers.",
        discussion: "Open the printed address in a browser for its controls. See docs/reference/simulator.md.",
        version: Build.description(of: "apple-simulator"))

    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 picks a free one.") var port: UInt16 = 0
    @Option(help: "Number of event loops; 0 starts one per core.") var threads = 1
    @Option(help: "The relying party's URL; its return and notification URLs are derived from it.")
    var serverURL = "http://localhost:8080"
    @Option(help: "The Services ID of the website.") var servicesID = "com.example.web"
    @Option(help: "The bundle ID of an app. Repeatable.") var bundleID: [String] = []
    @Option(help: "The Team ID.") var teamID = "TEAM123456"
    @Option(help: "The key ID; one for each --key.") var keyID: [String] = []
    @Option(
        help: "The relying party's key: the .p8, or its public key in PEM. If the file is missing, a .p8 is created.")
    var key: [String] = []
    @Option(help: "A return URL; replaces the one derived from --server-url. Repeatable.")
    var redirectURI: [String] = []
    @Option(help: "The notification URL; replaces the one derived from --server-url.") var notificationURL: String?
    @Option(help: "The only certificates, in PEM, that notifications trust. (default: the system's)")
    var trust: String?
    @Option(help: "The issuer of the tokens.") var issuer = "https://appleid.apple.com"
    @Flag(help: "Log every response.") var verbose = false
    @Flag(help: "Only check whether the simulator on --port is alive, as a container's health check does. Exit 0 or 1.")
    var alive = false

    func validate() throws {
        if alive { return }
        guard !key.isEmpty, key.count == keyID.count else {
            throw ValidationError("Pass --key FILE and its --key-id: the simulator verifies client secrets.")
        }
    }

    func run() async throws {
        if alive {
            let url = ClientURL(isSecure: false, host: "127.0.0.1", port: port, target: "/auth/keys")
            let answers = try await HTTPClient.withOwnLoop(userAgent: "apple-simulator") { _, transport in
                await transport.succeeds(url)
            }
            throw answers ? ExitCode.success : ExitCode.failure
        }
        guard let ip = IPAddress(host) else { throw ValidationError("--host \(host) is not an IP address.") }
        // Untrapped, they would not end the first process of a container.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        var logger = Logger(label: "apple-simulator")
        logger.logLevel = verbose ? .debug : .info
        let server = try SimulatorServer(
            configuration: try makeConfiguration(logger), address: SocketAddress(ip: ip, port: port), threads: threads,
            trusting: trust, logger: logger)
        let name = host.contains(":") ? "[\(host)]" : host
        print("The simulated Apple is at http://\(name):\(server.address.port)")
        // A program that started us through a pipe waits for this line.
        _ = fflush(nil)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { for await _ in signals { return server.stop() } }
            try await server.run()
            tasks.cancelAll()
        }
    }

    /// As Apple creates the key for you; only its owner may read it.
    private func makeKey(_ file: String, _ logger: Logger) throws {
        guard let content = ClientKey.makeP8() else { throw ValidationError("OpenSSL cannot create a P-256 key.") }
        do {
            try Files.create(file, mode: 0o600, bytes: content)
        } catch {
            throw ValidationError("\(file) does not exist and cannot be written: \(error).")
        }
        logger.info("key created", metadata: ["file": "\(file)"])
    }

    private func makeConfiguration(_ logger: Logger) throws -> SimulatorConfiguration {
        var keys: [String: ClientKey] = [:]
        for (id, file) in zip(keyID, key) {
            if !FileManager.default.fileExists(atPath: file) { try makeKey(file, logger) }
            guard let data = FileManager.default.contents(atPath: file) else {
                throw ValidationError("\(file) cannot be read.")
            }
            guard let key = ClientKey(pem: String(decoding: data, as: UTF8.self)) else {
                throw ValidationError("\(file) does not contain a P-256 key in PEM.")
            }
            keys[id] = key
        }
        var configuration = SimulatorConfiguration(
            serverURL: serverURL, servicesID: servicesID, bundleIDs: bundleID,
            team: SimulatorConfiguration.Team(id: teamID, keys: keys), redirectURIs: redirectURI)
        if let notificationURL { configuration.notificationURL = notificationURL }
        configuration.issuer = issuer
        return configuration
    }
}
