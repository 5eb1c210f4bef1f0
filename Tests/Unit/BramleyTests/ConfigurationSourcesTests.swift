import AppleID
import Certificates
import Crypto
import Foundation
import HTTP
import Sockets
import Testing
import Web

@testable import Accounts
@testable import Bramley

struct ConfigurationSourcesTests {
    let fixture = ConfigurationFixture()

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

    /// As it stands in the file, which is where people copy it from.
    @Test(arguments: [("[]", []), (#"["name"]"#, ["name"]), (#" ["name", "email"] "#, ["name", "email"])])
    func readsListsAsTheFileWritesThem(text: String, scopes: [String]) throws {
        #expect(try fixture.load(environment: ["BRAMLEY_APPLE_SCOPES": text]).configuration.apple.scopes == scopes)
        #expect(try fixture.load(flags: ["--apple-scopes", text]).configuration.apple.scopes == scopes)
    }

    /// Files of variables keep quotes, line ends and blanks that nobody means.
    @Test(arguments: ["%", "\"%\"", "'%'", " % \r\n", "\u{FEFF}%\n"])
    func acceptsPastedVariables(form: String) throws {
        func pasted(_ text: String) -> String { form.replacing("%", with: text) }
        let environment = [
            "BRAMLEY_APPLE_SERVICES_ID": pasted("com.example.other"), "BRAMLEY_SERVER_PORT": pasted("8123"),
            "BRAMLEY_BUTTON_BORDER": pasted("true"), "BRAMLEY_ACCESS_SIGN_UP": pasted("closed"),
            "BRAMLEY_APPLE_SCOPES": pasted("name"), "HTTPS_PROXY": pasted("http://proxy.example:3128"),
            "NO_PROXY": pasted("example.com"),
        ]
        let configuration = try fixture.load(environment: environment).configuration
        #expect(configuration.apple.servicesID == "com.example.other")
        #expect(configuration.server.listener.port == 8123)
        #expect(configuration.web.button.border)
        #expect(configuration.web.signIn.signUp == .closed)
        #expect(configuration.apple.scopes == ["name"])
        #expect(configuration.outboundProxy.server?.description == "proxy.example:3128")
    }

    @Test func acceptsAByteOrderMark() throws {
        #expect(try fixture.problems(ofText: "\u{FEFF}" + fixture.configuration()).isEmpty)
    }

    /// Kubernetes tells every container of the Services beside it.
    static let links: [(service: String, variables: [String: String])] = [
        (
            "bramley",
            [
                "BRAMLEY_SERVICE_HOST": "10.96.0.17", "BRAMLEY_SERVICE_PORT": "80", "BRAMLEY_SERVICE_PORT_HTTP": "80",
                "BRAMLEY_PORT": "tcp://10.96.0.17:80", "BRAMLEY_PORT_80_TCP": "tcp://10.96.0.17:80",
                "BRAMLEY_PORT_80_TCP_PROTO": "tcp", "BRAMLEY_PORT_80_TCP_PORT": "80",
                "BRAMLEY_PORT_80_TCP_ADDR": "10.96.0.17",
            ]
        ),
        (
            "bramley-server",
            ["BRAMLEY_SERVER_SERVICE_HOST": "10.96.0.19", "BRAMLEY_SERVER_PORT": "tcp://10.96.0.19:80"]
        ),
        ("bramley-admin", ["BRAMLEY_ADMIN_PORT": "tcp://10.96.0.20:9090", "BRAMLEY_ADMIN_SERVICE_PORT_HTTP_2": "9"]),
        ("bramley-dns", ["BRAMLEY_DNS_PORT": "udp://10.96.0.21:53", "BRAMLEY_DNS_PORT_53_UDP": "udp://10.96.0.21:53"]),
    ]

    @Test("Kubernetes' variables about Services are ignored", arguments: 0..<links.count)
    func ignoresServiceLinks(number: Int) throws {
        let environment = Self.links[number].variables
        let loaded = try fixture.load(environment: environment)
        #expect(loaded.warnings.isEmpty)
        #expect(loaded.configuration.server.listener.port == 8080)
        let path = try fixture.write(fixture.configuration(), to: "config.json")
        _ = try ConfigurationLoader.loadDatabase(ConfigurationInput(path: path, environment: environment))
    }

    @Test(arguments: [
        ["BRAMLEY_PORT": "80"], ["BRAMLEY_SERVER_PORT": "http://10.96.0.19:80"], ["BRAMLEY_SERVICE": "10.96.0.17"],
        ["BRAMLEY_PORT_HTTP_TCP": "1"],
    ])
    func variablesThatOnlyLookLikeKubernetesAreErrors(environment: [String: String]) throws {
        #expect(try fixture.problems(environment: environment).map(\.severity) == [.error])
    }

    /// Neither an App Store number nor a name with a dot too many is an identifier of Apple's portal.
    @Test(arguments: ["com.example.web.", ".com.example.web", "com..example", "1596750535", "15.96", "-", "."])
    func refusesAnInvalidClientID(text: String) throws {
        for (variable, key) in [
            ("BRAMLEY_APPLE_SERVICES_ID", "apple.servicesID"), ("BRAMLEY_APPLE_BUNDLE_IDS", "apple.bundleIDs"),
        ] {
            #expect(try fixture.problems(environment: [variable: text]).map(\.key) == [key])
        }
    }

    @Test(arguments: ["com.example.web", "Com.Example-2.3web", "web"])
    func acceptsAClientID(text: String) throws {
        #expect(try fixture.problems(environment: ["BRAMLEY_APPLE_SERVICES_ID": text]).isEmpty)
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
            "BRAMLEY_APPLE_PRIVATE_KEY": TestKeys.first.replacing("\n", with: "\\n"),
            "BRAMLEY_BUTTON_BORDER": "false", "BRAMLEY_BUTTON_WIDTH": "100%",
        ]
        let configuration = try ConfigurationLoader.load(ConfigurationInput(path: path, environment: environment))
            .configuration
        #expect(configuration.web.signIn.signUp == .closed)
        #expect(configuration.apple.key.pem.reveal() == TestKeys.first)
        #expect(!configuration.web.button.border)
        #expect(configuration.web.button.width == nil)
    }

    @Test(arguments: [
        ("BRAMLEY_APPLE_SERVICEID", "BRAMLEY_APPLE_SERVICES_ID"), ("BRAMLEY_APPLE_TEAMID", "BRAMLEY_APPLE_TEAM_ID"),
    ])
    func unknownVariableIsAnErrorThatNamesTheNearest(name: String, nearest: String) throws {
        let problems = try fixture.problems(environment: [name: "x"])
        #expect(problems.map(\.key) == [name])
        #expect(problems.first?.remedy.contains(nearest) == true)
    }

    @Test func foreignVariablesAreIgnored() throws {
        #expect(try fixture.problems(environment: ["BRAMBLE": "1", "bramley_server_port": "x"]).isEmpty)
    }

    @Test(arguments: [
        ["--server-prot", "1"], ["--server-prot=1"], ["8081"], ["--server-port"],
        ["--server-port", "1", "--server-port", "2"],
    ])
    func refusesUnknownIncompleteAndRepeatedFlags(flags: [String]) throws {
        #expect(try fixture.problems(flags: flags).filter { $0.severity == .error }.count == 1)
    }

    @Test func aFlagOfServeIsNotSuggestedInItsOwnPlace() throws {
        let problem = try fixture.problems(flags: ["--allow-simulated-apple"]).first
        #expect(problem?.fault == "is a flag of serve only." && problem?.remedy == "Remove it.")
    }

    @Test func refusesASecretAsAFlag() throws {
        let problems = try fixture.problems(
            ["apple": ["privateKeyFile": "x"]], flags: ["--secrets-sealing-key", String(repeating: "0", count: 64)])
        #expect(problems.contains { $0.key == "secrets.sealingKey" && $0.source == "--secrets-sealing-key" })
    }

    @Test(arguments: ["abc", "", "1.0", "0x10", "80 80", "99999999999999999999"])
    func refusesTextForANumber(text: String) throws {
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
