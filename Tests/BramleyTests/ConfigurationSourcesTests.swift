import Bramley
import Crypto
import Foundation
import HTTP
import RelyingParty
import Sockets
import Testing
import Web

struct ConfigurationSourcesTests {
    let fixture: ConfigurationFixture

    init() throws {
        fixture = try ConfigurationFixture()
    }

    @Test func flagsBeatTheEnvironmentWhichBeatsTheFile() throws {
        let changes = ["server": ["port": 8001, "threads": 1, "drainTimeout": 1]]
        let environment = ["BRAMLEY_SERVER_PORT": "8002", "BRAMLEY_SERVER_THREADS": "2"]
        let server = try fixture.load(changes, environment: environment, flags: ["--server-port", "8003"]).configuration
            .server
        #expect(server.listener.port == 8003)
        #expect(server.threads == 2)
        #expect(server.drainTimeout == 1)
    }

    @Test func readsBothSpellingsOfAFlagsValue() throws {
        let limits = try fixture.load(flags: ["--server-limits-body=70000", "--server-limits-connections", "9"])
            .configuration.server.limits
        #expect(limits.wire.body == 70000)
        #expect(limits.connections == 9)
    }

    @Test(arguments: [
        ("", []), ("name", ["name"]), ("email,name", ["name", "email"]), ("name, email", ["name", "email"]),
    ])
    func readsCommaSeparatedListsFromTheEnvironment(text: String, scopes: [String]) throws {
        let loaded = try fixture.load(environment: ["BRAMLEY_APPLE_SCOPES": text])
        #expect(loaded.configuration.apple.scopes == scopes)
    }

    @Test func refusesAnEmptyEntryOfAList() throws {
        let problems = try fixture.problems(environment: ["BRAMLEY_APPLE_SCOPES": "name,,email"])
        #expect(problems.map(\.key) == ["apple.scopes"])
    }

    @Test func everythingMayComeFromTheEnvironment() throws {
        let path = try fixture.write("{}", to: "config.json")
        let environment = [
            "PATH": "/usr/bin", "BRAMLEY_PUBLIC_URL": "https://id.example.com", "BRAMLEY_ACCESS_SIGN_UP": "closed",
            "BRAMLEY_APPLE_SERVICES_ID": "com.example.web", "BRAMLEY_APPLE_TEAM_ID": "A1B2C3D4E5",
            "BRAMLEY_APPLE_KEY_ID": "F6G7H8I9J0", "BRAMLEY_APPLE_SCOPES": "email",
            // Files and orchestrators often carry the line ends of a key as \n.
            "BRAMLEY_APPLE_PRIVATE_KEY": ConfigurationFixture.pem.replacing("\n", with: "\\n"),
            "BRAMLEY_BUTTON_BORDER": "false", "BRAMLEY_BUTTON_WIDTH": "100%",
        ]
        let configuration = try ConfigurationLoader.load(ConfigurationInput(path: path, environment: environment))
            .configuration
        #expect(configuration.access.signUp == .closed)
        #expect(configuration.apple.privateKeyPEM.reveal() == ConfigurationFixture.pem)
        #expect(!configuration.button.border)
        #expect(configuration.button.width == nil)
    }

    @Test(arguments: [
        ("BRAMLEY_APPLE_SERVICEID", "BRAMLEY_APPLE_SERVICES_ID"), ("BRAMLEY_APPLE_TEAMID", "BRAMLEY_APPLE_TEAM_ID"),
    ])
    func unknownVariableIsAnErrorThatNamesTheNearest(name: String, nearest: String) throws {
        let problems = try fixture.problems(environment: [name: "x"])
        #expect(problems.map(\.key) == [name])
        #expect(problems.first?.remedy.contains(nearest) == true)
    }

    @Test func variablesOfOthersAreLeftAlone() throws {
        #expect(try fixture.problems(environment: ["BRAMBLE": "1", "bramley_server_port": "x"]).isEmpty)
    }

    @Test(arguments: [
        ["--server-prot", "1"], ["--server-prot=1"], ["8081"], ["--server-port"],
        ["--server-port", "1", "--server-port", "2"],
    ])
    func refusesAFlagThatIsNone(flags: [String]) throws {
        #expect(try fixture.problems(flags: flags).filter { $0.severity == .error }.count == 1)
    }

    @Test func refusesASecretAsAFlag() throws {
        let problems = try fixture.problems(
            ["apple": ["privateKeyFile": "x"]], flags: ["--secrets-sealing-key", String(repeating: "0", count: 64)])
        #expect(problems.contains { $0.key == "secrets.sealingKey" && $0.source == "--secrets-sealing-key" })
    }

    @Test(arguments: ["abc", "", "1.0", "0x10", "8080 ", "99999999999999999999"])
    func refusesATextThatIsNoNumber(text: String) throws {
        let problems = try fixture.problems(environment: ["BRAMLEY_SERVER_PORT": text])
        #expect(problems.map(\.key) == ["server.port"])
        #expect(problems.first?.source == "BRAMLEY_SERVER_PORT")
    }

    @Test func namedFileHasToExist() {
        #expect(throws: ConfigurationFailure.self) {
            try ConfigurationLoader.load(ConfigurationInput(path: fixture.directory.path + "/none.json"))
        }
    }
}
