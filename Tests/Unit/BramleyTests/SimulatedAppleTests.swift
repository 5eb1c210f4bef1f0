import AppleID
import Bramley
import Testing
import Web

/// The simulator can never stand in for Apple by accident.
struct SimulatedAppleTests {
    let fixture = ConfigurationFixture()

    static let foreign: [(key: String, change: [String: any Sendable])] = [
        ("apple.endpoint", ["endpoint": "http://127.0.0.1:9700"]),
        ("apple.endpoint", ["endpoint": "https://apple.example.com"]),
        ("apple.endpoint", ["endpoint": "https://appleid.apple.com.example.com"]),
        ("apple.endpoint", ["endpoint": "https://notapple.com"]),
        ("apple.endpoint", ["endpoint": "https://appleid.apple.com:8443"]),
        ("apple.issuers", ["issuers": ["https://appleid.apple.com", "https://issuer.example.com"]]),
        ("apple.scriptURL", ["scriptURL": "https://cdn.example.com/{locale}/appleid.auth.js"]),
        ("apple.scriptURL", ["scriptURL": "https://evil.cdn-apple.com/x.js"]),
    ]

    @Test(arguments: foreign)
    func refusesAnAddressThatIsNotApplesOnARealSite(key: String, change: [String: any Sendable]) throws {
        let problems = try fixture.problems(["apple": change])
        #expect(problems.map(\.key) == [key])
        #expect(problems.first?.remedy.contains("--allow-simulated-apple") == true)
    }

    @Test(arguments: foreign)
    func onlyTheFlagOverridesAndShowsABanner(key: String, change: [String: any Sendable]) throws {
        let configuration = try fixture.load(["apple": change], simulatedApple: .accepted).configuration
        #expect(configuration.apple.isSimulated)
        #expect(configuration.web.apple.isSimulatedByOverride)
    }

    /// `check`, `doctor` and the commands for the database sign nobody in: only `serve` wants the flag.
    @Test(arguments: foreign)
    func onlyServeRefuses(key: String, change: [String: any Sendable]) throws {
        let problems = try fixture.problems(["apple": change], simulatedApple: .reported)
        #expect(problems.map(\.key) == [key])
        #expect(problems.map(\.severity) == [.warning])
    }

    /// Apple refuses a host of one label; a simulated one does not.
    @Test(arguments: [true, false])
    func aHostOfOneLabelIsForASimulatedApple(isSimulated: Bool) throws {
        let change: [String: any Sendable] = isSimulated ? ["endpoint": "http://127.0.0.1:9700"] : [:]
        let problems = try fixture.problems(
            ["publicURL": "https://intranet", "apple": change], simulatedApple: .reported)
        #expect(problems.contains { $0.key == "publicURL" && $0.severity == .error } == !isSimulated)
    }

    @Test(arguments: [
        "http://localhost:8080", "http://127.0.0.1:8080", "http://app.localhost", "https://id.example.test",
    ])
    func acceptsASimulatorOnALocalSite(url: String) throws {
        let configuration = try fixture.load(["publicURL": url, "apple": ["endpoint": "http://127.0.0.1:9700"]])
            .configuration
        #expect(configuration.apple.isSimulated)
        #expect(!configuration.web.apple.isSimulatedByOverride)
    }

    @Test(arguments: ["https://localhost.example.com", "https://test.example.com", "https://example-test.org"])
    func namesThatLookLikeTestsAreRealSites(url: String) throws {
        let problems = try fixture.problems(["publicURL": url, "apple": ["endpoint": "http://127.0.0.1:9700"]])
        #expect(problems.map(\.key) == ["apple.endpoint"])
    }

    @Test func neitherFileNorEnvironmentCanOverride() throws {
        let change = ["apple": ["endpoint": "http://127.0.0.1:9700"]]
        for name in ["BRAMLEY_ALLOW_SIMULATED_APPLE", "ALLOW_SIMULATED_APPLE"] {
            #expect(try fixture.problems(change, environment: [name: "true"]).contains { $0.key == "apple.endpoint" })
        }
    }

    @Test func applesOwnAddressesAreReal() throws {
        let configuration = try fixture.load(
            [
                "apple": [
                    "endpoint": "https://account.apple.com",
                    "issuers": ["https://appleid.apple.com", "https://account.apple.com"],
                ]
            ],
            simulatedApple: .accepted
        ).configuration
        #expect(!configuration.apple.isSimulated)
        #expect(!configuration.web.apple.isSimulatedByOverride)
    }

    /// `iss` is compared letter for letter: what looks like Apple's is not enough.
    @Test(arguments: [
        "https://appleid.apple.com/", "https://appleid.apple.com/auth", "https://account.apple.com/",
        "https://idmsa.apple.com",
    ])
    func warnsOfAnIssuerAppleDoesNotUse(issuer: String) throws {
        let problems = try fixture.problems(["apple": ["issuers": [issuer]]])
        #expect(problems.map(\.key) == ["apple.issuers"])
        #expect(problems.first?.severity == .warning)
        #expect(problems.first?.fault.contains(issuer) == true)
        #expect(problems.first?.remedy.contains("https://appleid.apple.com\"") == true)
    }

    @Test func warnsOfASimulatorsIssuerOnlyForItsSlash() throws {
        let site = "http://localhost:8080"
        func problems(_ issuer: String) throws -> [String] {
            try fixture.problems(["publicURL": site, "apple": ["issuers": [issuer]]]).map(\.key)
        }
        #expect(try problems("http://127.0.0.1:9700") == [])
        #expect(try problems("http://127.0.0.1:9700/apple") == [])
        #expect(try problems("http://127.0.0.1:9700/") == ["apple.issuers"])
        #expect(try fixture.problems().isEmpty)
    }
}
