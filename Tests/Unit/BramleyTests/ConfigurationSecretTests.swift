import Certificates
import Foundation
import Testing

@testable import Bramley

struct ConfigurationSecretTests {
    let fixture = ConfigurationFixture()
    static let sealingKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

    private func problems(ofKeyFile text: String, mode: Int = 0o600) throws -> [ConfigurationProblem] {
        let path = try fixture.write(text, to: "other.p8", mode: mode)
        return try fixture.problems(["apple": ["privateKeyFile": path]])
    }

    @Test(arguments: ["%", "\u{FEFF}%", "\"%\"\r\n", "  '%'"])
    func acceptsAPastedSealingKey(form: String) throws {
        let path = try fixture.write(form.replacing("%", with: Self.sealingKey), to: "sealing.key")
        #expect(try fixture.problems(["secrets": ["sealingKeyFile": path]]).isEmpty)
    }

    /// Never the text itself.
    @Test(arguments: [
        ("00112233", "has 8 digits"), (String(sealingKey.dropLast()), "has 63 digits"),
        (
            String(sealingKey.prefix(32)) + "\n" + sealingKey.dropFirst(32),
            "has spaces or line breaks between its digits"
        ),
        ("!" + sealingKey.dropFirst(), "has 1 characters that are not hexadecimal digits"),
    ])
    func namesWhatIsWrongWithASealingKey(text: String, says: String) throws {
        let path = try fixture.write(text, to: "sealing.key")
        let problem = try #require(try fixture.problems(["secrets": ["sealingKeyFile": path]]).first)
        #expect(problem.fault.contains(says))
        #expect(!problem.description.contains(text))
    }

    @Test(
        arguments: [
            (0o600, nil), (0o400, nil), (0o640, .warning), (0o440, .warning), (0o644, .error), (0o604, .error),
            (0o666, .error),
            (0o660, .error),
        ] as [(Int, ConfigurationProblem.Severity?)])
    func judgesTheKeysPermissions(mode: Int, severity: ConfigurationProblem.Severity?) throws {
        let problems = try problems(ofKeyFile: TestKeys.first, mode: mode)
        #expect(problems.map(\.severity) == (severity.map { [$0] } ?? []))
    }

    /// Regression: `doctor` doubted the very set-up that docs/start/install.md asks for, root:bramley and 0640.
    @Test(arguments: [(0o640, true), (0o644, false), (0o660, false)])
    func rootMayGiveAFileToAGroup(mode: Int, isGood: Bool) {
        let file = GuardedFile(bytes: [], mode: mode, isGivenToGroup: true)
        let problem = file.modeProblem(at: "key.p8", key: "", source: nil, holdsSecret: true)
        #expect((problem == nil) == isGood)
    }

    @Test(arguments: [(0o600, nil), (0o644, .warning), (0o646, .error)] as [(Int, ConfigurationProblem.Severity?)])
    func judgesAFileWithoutSecretsMoreMildly(mode: Int, severity: ConfigurationProblem.Severity?) throws {
        let path = try fixture.write(fixture.configuration(), to: "config.json", mode: mode)
        let problems: [ConfigurationProblem]
        do {
            problems = try ConfigurationLoader.load(ConfigurationInput(path: path)).warnings
        } catch {
            problems = error.problems
        }
        #expect(problems.map(\.severity) == (severity.map { [$0] } ?? []))
    }

    @Test func refusesAReadableFileWithAnInlineSecret() throws {
        let text = try fixture.configuration(["secrets": ["sealingKey": Self.sealingKey]])
        let path = try fixture.write(text, to: "config.json", mode: 0o644)
        #expect(throws: ConfigurationFailure.self) { try ConfigurationLoader.load(ConfigurationInput(path: path)) }
    }

    @Test func refusesBothSpellingsFromDifferentSources() throws {
        let problems = try fixture.problems(environment: ["BRAMLEY_APPLE_PRIVATE_KEY": TestKeys.first])
        #expect(problems.map(\.key) == ["apple.privateKeyFile"])
    }

    @Test(arguments: [
        "abcd", String(repeating: "g", count: 64), String(repeating: "0", count: 63), String(repeating: "0", count: 65),
    ])
    func refusesASealingKeyOfAnotherForm(text: String) throws {
        #expect(try fixture.problems(["secrets": ["sealingKey": text]]).map(\.key) == ["secrets.sealingKey"])
        let path = try fixture.write(text, to: "sealing.key")
        #expect(try fixture.problems(["secrets": ["sealingKeyFile": path]]).map(\.key) == ["secrets.sealingKeyFile"])
        #expect(
            try fixture.problems(["secrets": ["previousSealingKeyFiles": [path]]]).map(\.key) == [
                "secrets.previousSealingKeyFiles"
            ])
    }

    @Test func readsPreviousSealingKeysAndMissesNoSealingKeyFile() throws {
        let path = try fixture.write(Self.sealingKey + "\n", to: "old.key")
        let secrets = try fixture.load(["secrets": ["previousSealingKeyFiles": [path]]]).configuration.secrets
        #expect(secrets.previousSealingKeys.count == 1)
        #expect(try fixture.problems(["secrets": ["sealingKeyFile": fixture.directory.path + "/none"]]).isEmpty)
    }

    @Test func sealingKeyTextRoundTrips() throws {
        let bytes = [UInt8](0..<32)
        #expect(SealingKeyText.parse(SealingKeyText.render(bytes)) != nil)
        #expect(SealingKeyText.render(bytes).utf8.count == 65)
        #expect(SealingKeyText.parse(Self.sealingKey + " 00") == nil)
    }

    /// A secret that is wrong in every way it can be is quoted nowhere.
    @Test(arguments: [
        ("apple", "privateKey", "hunter2-secret" as any Sendable), ("apple", "privateKey", ["hunter2-secret"]),
        ("secrets", "sealingKey", "hunter2-secret"),
        ("secrets", "previousSealingKeys", ["hunter2-secret", "hunter2-secret"]),
        ("secrets", "previousSealingKeys", "hunter2-secret"), ("secrets", "sealingKey", "hunter2-secret\u{1B}[31m"),
    ])
    func secretsAreInNoMessage(group: String, name: String, value: any Sendable) throws {
        let problems = try fixture.problems([group: [name: value]])
        #expect(!problems.isEmpty)
        #expect(!ConfigurationFailure(problems: problems).description.contains("hunter2"))
        let key = try #require(ConfigurationTable.byName["\(group).\(name)"])
        let others = try fixture.problems(
            environment: [key.environmentName: "hunter2-secret"], flags: [key.flagName, "hunter2-secret"])
        #expect(!ConfigurationFailure(problems: others).description.contains("hunter2"))
    }

    @Test func dumpOfAConfigurationShowsNoSecret() throws {
        let configuration = try fixture.load(["secrets": ["sealingKey": Self.sealingKey]]).configuration
        var text = ""
        dump(configuration, to: &text)
        text += "\(configuration)"
        #expect(!text.contains("BEGIN PRIVATE KEY"))
        #expect(!text.contains(Self.sealingKey))
    }

    @Test func readsThroughALinkAndNoDirectory() throws {
        let link = fixture.directory.path + "/link.p8"
        try linkFile(at: link, to: fixture.keyPath)
        #expect(try fixture.problems(["apple": ["privateKeyFile": link]]).isEmpty)
        #expect(
            try fixture.problems(["apple": ["privateKeyFile": fixture.directory.path]]).map(\.key) == [
                "apple.privateKeyFile"
            ])
    }
}
