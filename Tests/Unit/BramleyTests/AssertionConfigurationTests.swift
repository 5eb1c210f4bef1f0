import Bramley
import Crypto
import Testing
import Web

@testable import Accounts

struct AssertionConfigurationTests {
    let fixture = ConfigurationFixture()

    @Test func withoutItThereAreNone() throws {
        let loaded = try fixture.load()
        #expect(loaded.configuration.web.assertionAudiences.isEmpty)
        #expect(!CheckCommand.summary(of: loaded).joined().contains("jwks.json"))
    }

    @Test(arguments: ["https://api.example.com", "backend", String(repeating: "a", count: 256), "urn:example:a,b"])
    func acceptsAnAudience(text: String) throws {
        let loaded = try fixture.load(["assertion": ["audience": text]])
        #expect(loaded.configuration.web.assertionAudiences.map(\.name) == [text])
        let line = CheckCommand.summary(of: loaded).first { $0.contains("jwks.json") }
        #expect(line?.hasSuffix(" https://id.example.com/.well-known/jwks.json") == true)
    }

    @Test(arguments: [
        "", " ", "a b", "bäckend", "a\nb", String(repeating: "a", count: 257),
        // Audiences of other tokens: Apple's for us, ours for Apple.
        "com.example.web", "com.example.app", "https://appleid.apple.com",
    ])
    func refusesAnAudience(text: String) throws {
        let problems = try fixture.problems([
            "assertion": ["audience": text], "apple": ["bundleIDs": ["com.example.app"]],
        ])
        #expect(problems.map(\.key) == ["assertion.audience"])
    }

    @Test func readsItFromTheEnvironmentAndAFlag() throws {
        #expect(
            try fixture.load(environment: ["BRAMLEY_ASSERTION_AUDIENCE": "a"]).configuration.web.assertionAudiences
                == [AssertionAudience(name: "a")])
        #expect(
            try fixture.load(flags: ["--assertion-audience", "b"]).configuration.web.assertionAudiences.map(\.name)
                == ["b"])
    }

    @Test func readsSeveralAudiencesAndTheirAlgorithms() throws {
        let loaded = try fixture.load([
            "assertion": [
                "audience": ["backend", "https://gateway.example.com"],
                "rs256Audiences": ["https://gateway.example.com"],
            ]
        ])
        #expect(
            loaded.configuration.web.assertionAudiences == [
                AssertionAudience(name: "backend"),
                AssertionAudience(name: "https://gateway.example.com", algorithm: .rs256),
            ])
        #expect(loaded.configuration.web.assertionAudiences.algorithms == [.es256, .rs256])
        let alone = try fixture.load(["assertion": ["audience": "backend", "rs256Audiences": ["backend"]]])
        #expect(alone.configuration.web.assertionAudiences.algorithms == [.rs256])
    }

    @Test(
        arguments: [
            (["a", "b c"], [], "assertion.audience"), (["a", "a"], [], "assertion.audience"),
            (["a", "true"], [], "assertion.audience"), (["false"], [], "assertion.audience"),
            (["a", "com.example.web"], [], "assertion.audience"),
            ((0..<17).map { "a\($0)" }, [], "assertion.audience"),
            (["a"], ["b"], "assertion.rs256Audiences"), ([], ["b"], "assertion.rs256Audiences"),
            (["a"], ["a", "a"], "assertion.rs256Audiences"),
        ] as [([String], [String], String)])
    func refusesSeveral(audiences: [String], rsa: [String], key: String) throws {
        let found = try fixture.problems(["assertion": ["audience": audiences, "rs256Audiences": rsa]])
        #expect(found.map(\.key) == [key])
    }
}
