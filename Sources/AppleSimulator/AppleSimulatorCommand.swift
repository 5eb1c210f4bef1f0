import ArgumentParser
import FoundationEssentials
import HTTP
import Logging

@main
struct AppleSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple-simulator",
        abstract: "A local stand-in for Apple's Sign in with Apple servers.",
        discussion: "Controls and documentation: open the printed address in a browser; docs/apple-simulator.md.")

    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 takes a free one.") var port: UInt16 = 0
    @Option(help: "The relying party; its return URL and notification URL are below it.")
    var serverURL = "http://localhost:8080"
    @Option(help: "The Services ID of the website.") var servicesID = "com.example.web"
    @Option(help: "The bundle ID of an app; may be given several times.") var bundleID: [String] = []
    @Option(help: "The Team ID.") var teamID = "TEAM123456"
    @Option(help: "The key ID; one for each --key.") var keyID: [String] = []
    @Option(help: "The relying party's key: the .p8, or its public half in PEM.") var key: [String] = []
    @Option(help: "A return URL; replaces the one below --server-url; may be given several times.")
    var redirectURI: [String] = []
    @Option(help: "Where notifications go; replaces the one below --server-url.") var notificationURL: String?
    @Option(help: "The issuer of the tokens.") var issuer = "https://appleid.apple.com"

    func validate() throws {
        guard !key.isEmpty, key.count == keyID.count else {
            throw ValidationError("Name a --key FILE and its --key-id: client secrets are checked for real.")
        }
    }

    func run() async throws {
        var simulatorConfiguration = try makeConfiguration()
        simulatorConfiguration.issuer = issuer
        guard let simulator = Simulator(configuration: simulatorConfiguration) else {
            throw ValidationError("OpenSSL cannot make RSA keys.")
        }
        _ = simulator
    }

    private func makeConfiguration() throws -> SimulatorConfiguration {
        var keys: [String: ClientKey] = [:]
        for (id, file) in zip(keyID, key) {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw ValidationError("\(file) cannot be read.")
            }
            guard let key = ClientKey(pem: String(decoding: data, as: UTF8.self)) else {
                throw ValidationError("\(file) holds no P-256 key in PEM.")
            }
            keys[id] = key
        }
        var base = serverURL
        while base.hasSuffix("/") { base.removeLast() }
        let uris = redirectURI.isEmpty ? [base + "/apple/callback"] : redirectURI
        return SimulatorConfiguration(
            teams: [SimulatorConfiguration.Team(id: teamID, keys: keys)],
            clients: [SimulatorConfiguration.Client(id: servicesID, team: teamID, redirectURIs: uris)]
                + bundleID.map { SimulatorConfiguration.Client(id: $0, team: teamID, redirectURIs: []) },
            notificationURL: notificationURL ?? base + "/apple/notifications")
    }
}
