import AppleID
import Coding
import Crypto
import IndependentSigning
import Testing

@testable import Accounts

struct ClientSecretTests {
    private let clock = TestClock()
    private let signer = IndependentSigner.shared

    private func key(_ name: String, id: String = "KEY1234567") throws -> ClientSecretKey {
        ClientSecretKey(id: id, key: try P256PrivateKey(pem: try signer.makeP256Key(name)))
    }

    private func mint(_ key: ClientSecretKey) throws -> ClientSecretMint {
        let mint = ClientSecretMint(try Apple.configuration(), testRuntime(clock))
        mint.replaceKeys(ClientSecretKeys(current: key))
        return mint
    }

    @Test func isKeptForFiveMinutesPerClient() throws {
        let mint = try mint(try key("kept"))
        let first = try mint.secret(for: ClientID("a")).reveal()
        #expect(try mint.secret(for: ClientID("b")).reveal() != first)
        clock.advance(seconds: 299)
        #expect(try mint.secret(for: ClientID("a")).reveal() == first)
        clock.advance(seconds: 1)
        #expect(try mint.secret(for: ClientID("a")).reveal() != first)
    }

    @Test(arguments: [-1, -86_400, 86_400] as [Int64])
    func aClockStepMakesANewOne(step: Int64) throws {
        let mint = try mint(try key("step"))
        let first = try mint.secret(for: ClientID("a")).reveal()
        clock.advance(seconds: step)
        let second = try mint.secret(for: ClientID("a")).reveal()
        #expect(second != first)
        let decoded = try JSONReader.parse(Array(try decode(second).utf8)).objectValue
        #expect(decoded?["iat"]?.int64Value == clock.now().seconds)
    }

    @Test func aNewKeyMakesANewOne() throws {
        let mint = try mint(try key("old"))
        let first = try mint.secret(for: ClientID("a")).reveal()
        #expect(mint.replaceKeys(ClientSecretKeys(current: try key("new", id: "NEXT123456"))))
        let second = try mint.secret(for: ClientID("a")).reveal()
        #expect(second != first)
        #expect(try signer.verifyClientSecret(second, key: "new").contains("NEXT123456"))
    }

    @Test func theSameKeyAgainKeepsTheSecret() throws {
        let keys = ClientSecretKeys(current: try key("same"), next: try key("same next", id: "NEXT123456"))
        let mint = try mint(keys.current)
        #expect(mint.replaceKeys(keys))
        let first = try mint.secret(for: ClientID("a")).reveal()
        #expect(!mint.replaceKeys(keys))
        #expect(try mint.secret(for: ClientID("a")).reveal() == first)
        // One key under another ID is another key to Apple.
        var renamed = keys
        renamed.next = ClientSecretKey(id: "OTHER12345", key: try P256PrivateKey(pem: signer.makeP256Key("renamed")))
        #expect(mint.replaceKeys(renamed))
    }

    @Test func neverPrintsItself() throws {
        let secret = try mint(key("print")).secret(for: ClientID("a"))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
            #expect(text.contains("<redacted>"))
            #expect(!text.contains(secret.reveal().prefix(20)))
        }
    }

    private func decode(_ token: String) throws -> String {
        String(decoding: try #require(Base64URL.decode(String(token.split(separator: ".")[1]))), as: UTF8.self)
    }
}
