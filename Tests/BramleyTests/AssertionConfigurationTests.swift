import Bramley
import Testing

struct AssertionConfigurationTests {
    let fixture: ConfigurationFixture

    init() throws {
        fixture = try ConfigurationFixture()
    }

    @Test func withoutItThereAreNone() throws {
        let loaded = try fixture.load()
        #expect(loaded.configuration.assertion.audience == nil)
        #expect(!CheckCommand.summary(of: loaded).joined().contains("jwks.json"))
    }

    @Test(arguments: ["https://api.example.com", "backend", String(repeating: "a", count: 256), "urn:example:a,b"])
    func acceptsAnAudience(text: String) throws {
        let loaded = try fixture.load(["assertion": ["audience": text]])
        #expect(loaded.configuration.assertion.audience == text)
        let line = CheckCommand.summary(of: loaded).first { $0.contains("jwks.json") }
        #expect(line?.hasSuffix(" https://id.example.com/.well-known/jwks.json") == true)
    }

    @Test(arguments: [
        "", " ", "a b", "bäckend", "a\n", String(repeating: "a", count: 257),
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
            try fixture.load(environment: ["BRAMLEY_ASSERTION_AUDIENCE": "a"]).configuration.assertion.audience == "a")
        #expect(try fixture.load(flags: ["--assertion-audience", "b"]).configuration.assertion.audience == "b")
    }
}
