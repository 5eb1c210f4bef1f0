import AppleID
import Bramley
import Certificates
import Crypto
import Foundation
import Testing

/// `apple.nextKeyID` and its twins: the second key, complete and another than the first, or refused with its reason.
struct NextKeyConfigurationTests {
    let fixture = ConfigurationFixture()

    private func next(_ name: String = "AuthKey_NEXT123456.p8", _ pem: String = TestKeys.second) throws -> String {
        try fixture.write(pem, to: name)
    }

    @Test func thereIsNoneUnlessItIsNamed() throws {
        let apple = try fixture.load().configuration.apple
        #expect(apple.nextKey == nil)
        #expect(apple.key.file == fixture.keyPath)
    }

    @Test func readsTheFileOfTheNextKey() throws {
        let path = try next()
        let loaded = try fixture.load(["apple": ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": path]])
        #expect(loaded.warnings.isEmpty)
        let key = try #require(loaded.configuration.apple.nextKey)
        #expect(key.id == "NEXT123456")
        #expect(key.file == path)
        #expect(key.pem.reveal() == TestKeys.second)
    }

    @Test func readsTheNextKeyFromTheEnvironment() throws {
        let loaded = try fixture.load(environment: [
            "BRAMLEY_APPLE_NEXT_KEY_ID": "NEXT123456",
            "BRAMLEY_APPLE_NEXT_PRIVATE_KEY": TestKeys.second.replacing("\n", with: "\\n"),
        ])
        let key = try #require(loaded.configuration.apple.nextKey)
        #expect(key.file == nil)
        #expect(key.pem.reveal() == TestKeys.second)
    }

    /// What is given in `apple`, and the key that is complained about.
    @Test(arguments: [
        ("an ID without a key", ["nextKeyID": "NEXT123456"], "apple.nextKeyID"),
        ("a file without an ID", ["nextPrivateKeyFile": "@NEXT@"], "apple.nextPrivateKeyFile"),
        ("an ID of another form", ["nextKeyID": "next", "nextPrivateKeyFile": "@NEXT@"], "apple.nextKeyID"),
        (
            "the first key's ID", ["nextKeyID": "F6G7H8I9J0", "nextPrivateKeyFile": "@PLAIN@"],
            "apple.nextKeyID"
        ),
        (
            "the first key", ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": "@FIRST@"],
            "apple.nextPrivateKeyFile"
        ),
        (
            "no key in the file", ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": "@BROKEN@"],
            "apple.nextPrivateKeyFile"
        ),
        (
            "a file that is not there", ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": "/nonexistent/next.p8"],
            "apple.nextPrivateKeyFile"
        ),
        (
            "a file that everybody reads", ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": "@OPEN@"],
            "apple.nextPrivateKeyFile"
        ),
        (
            "both spellings", ["nextKeyID": "NEXT123456", "nextPrivateKeyFile": "@NEXT@", "nextPrivateKey": "x"],
            "apple.nextPrivateKeyFile"
        ),
    ])
    func refusesAnInvalidSecondKey(what: String, apple: [String: String], key: String) throws {
        let places = [
            "@NEXT@": try next(), "@PLAIN@": try next("plain.p8"),
            "@FIRST@": try next("first.p8", TestKeys.first),
            "@BROKEN@": try next("broken.p8", "-----BEGIN PRIVATE KEY-----"),
            "@OPEN@": try fixture.write(TestKeys.second, to: "open.p8", mode: 0o644),
        ]
        let problems = try fixture.problems(["apple": apple.mapValues { places[$0] ?? $0 }])
        #expect(problems.filter { $0.severity == .error }.map(\.key) == [key], "\(what): \(problems)")
    }

    @Test func warnsOfAnIDThatTheFilesNameContradicts() throws {
        let problems = try fixture.problems([
            "apple": ["nextKeyID": "OTHER12345", "nextPrivateKeyFile": try next()]
        ])
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.key) == ["apple.nextKeyID"])
    }

    @Test func inlineKeyAsAFlagIsRefused() throws {
        let problems = try fixture.problems(flags: ["--apple-next-private-key", "x"])
        #expect(problems.contains { $0.key == "apple.nextPrivateKey" && $0.fault.contains("secret") })
    }
}
