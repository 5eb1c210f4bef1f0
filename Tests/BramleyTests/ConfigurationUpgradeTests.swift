import Bramley
import Foundation
import RelyingParty
import Testing
import Web

struct ConfigurationUpgradeTests {
    let fixture: ConfigurationFixture
    private static let url = "https://app.example.com/apple/verifier"
    private static let secret = ConfigurationWebhooksTests.secret

    init() throws {
        fixture = try ConfigurationFixture()
    }

    private func problems(_ upgrade: [String: Any]) throws -> [String] {
        try fixture.problems(["upgrade": upgrade]).map(\.key)
    }

    @Test func thereIsNoVerifierByDefault() throws {
        let configuration = try fixture.load().configuration
        #expect(configuration.upgrade == nil)
        #expect(!configuration.login.askExistingAccount)
        #expect(configuration.server.limits.web.upgradesPerMinute == 10)
        #expect(configuration.server.limits.upgradesPerAccount == 10)
        // Switched off in so many words.
        #expect(try fixture.load(["upgrade": ["changePassword": false]]).configuration.upgrade == nil)
    }

    @Test func readsTheFile() throws {
        let path = try fixture.write(Self.secret + "\n", to: "upgrade.secret")
        let loaded = try fixture.load([
            "upgrade": ["verifierURL": Self.url, "secretFile": path, "changePassword": true],
            "server": [
                "limits": ["upgradesPerMinute": 3, "upgradesPerAccount": 4], "trustedProxies": ["127.0.0.1"],
            ],
        ])
        #expect(loaded.warnings.isEmpty)
        let upgrade = try #require(loaded.configuration.upgrade)
        #expect(upgrade.verifierURL == Self.url && loaded.configuration.linking.changePassword)
        guard case .file(path) = upgrade.secrets else {
            Issue.record("no file")
            return
        }
        #expect(loaded.configuration.server.limits.web.upgradesPerMinute == 3)
        #expect(loaded.configuration.server.limits.upgradesPerAccount == 4)
        #expect(loaded.configuration.webhooks == nil)
    }

    @Test func readsTheEnvironment() throws {
        let configuration = try fixture.load(environment: [
            "BRAMLEY_UPGRADE_VERIFIER_URL": "http://localhost:5001",
            "BRAMLEY_UPGRADE_SECRET": Self.secret + "\\n" + ConfigurationWebhooksTests.other,
            "BRAMLEY_UPGRADE_CHANGE_PASSWORD": "true",
            "BRAMLEY_LOGIN_ASK_EXISTING_ACCOUNT": "true",
            "BRAMLEY_LOGIN_PASSWORD_URL": "https://app.example.com/login?from=apple",
        ]).configuration
        let upgrade = try #require(configuration.upgrade)
        #expect(upgrade.verifierURL == "http://localhost:5001/" && configuration.linking.changePassword)
        guard case .inline(let secrets) = upgrade.secrets else {
            Issue.record("no inline secret")
            return
        }
        #expect(secrets.all.count == 2)
        #expect(configuration.login.askExistingAccount)
        #expect(configuration.login.passwordURL == "https://app.example.com/login?from=apple")
    }

    @Test(arguments: [
        "http://app.example.com/verifier", "ftp://app.example.com", "app.example.com", "", " ",
        "https://app.example.com/?a", "https://u:p@app.example.com/", "https://app.example.com/#x",
        "https://APP.example.com/", "http://localhost.example.com/", "//app.example.com/", "file:///etc/passwd",
    ])
    func refusesAnAddress(url: String) throws {
        #expect(try problems(["verifierURL": url, "secret": Self.secret]) == ["upgrade.verifierURL"])
    }

    @Test(
        arguments: [
            (["secret": secret], ["upgrade.secret"]), (["changePassword": true], ["upgrade.changePassword"]),
            (["verifierURL": url], ["upgrade.secretFile"]),
            (["verifierURL": url, "secret": "whsec_aHVudGVyMg=="], ["upgrade.secret"]),
            (["verifierURL": url, "secret": secret, "secretFile": "x"], ["upgrade.secretFile"]),
            (["verifierURL": url, "secretFile": "/nowhere"], ["upgrade.secretFile"]),
            (["verifierURL": url, "secret": secret, "changePassword": "yes"], ["upgrade.changePassword"]),
            (["verifierURL": url, "secret": secret, "changePasword": true], ["upgrade.changePasword"]),
            // Every problem in one run.
            (
                ["verifierURL": "app.example.com", "changePassword": 1],
                [
                    "upgrade.changePassword", "upgrade.secretFile", "upgrade.verifierURL",
                ]
            ),
        ] as [([String: any Sendable], [String])])
    func refusesWhatDoesNotGoTogether(upgrade: [String: any Sendable], keys: [String]) throws {
        let found = try fixture.problems(["upgrade": upgrade])
        #expect(found.map(\.key).sorted() == keys)
        #expect(!ConfigurationFailure(problems: found).description.contains("aHVudGVyMg"))
    }

    @Test(
        arguments: [(0o600, nil), (0o640, .warning), (0o644, .error), (0o620, .error)]
            as [(Int, ConfigurationProblem.Severity?)])
    func judgesWhoElseCanReadTheSecret(mode: Int, severity: ConfigurationProblem.Severity?) throws {
        let path = try fixture.write(Self.secret, to: "upgrade.secret", mode: mode)
        let found = try fixture.problems(["upgrade": ["verifierURL": Self.url, "secretFile": path]])
        #expect(found.map(\.severity) == (severity.map { [$0] } ?? []))
    }

    @Test func refusesASecretOnTheCommandLine() throws {
        let found = try fixture.problems(
            ["upgrade": ["verifierURL": Self.url]], flags: ["--upgrade-secret", Self.secret])
        #expect(found.map(\.key) == ["upgrade.secret"])
        #expect(!ConfigurationFailure(problems: found).description.contains("MDEyMz"))
    }

    @Test(
        arguments: [
            (["askExistingAccount": true], ["login.askExistingAccount"]),
            (["askExistingAccount": true, "passwordURL": "https://app.example.com/login#form"], ["login.passwordURL"]),
            (["askExistingAccount": true, "passwordURL": "http://app.example.com/login"], ["login.passwordURL"]),
            (["askExistingAccount": "true"], ["login.askExistingAccount"]),
            (["askExistingAccount": true, "passwordURL": "https://app.example.com/login"], []),
            (["askExistingAccount": true, "passwordURL": "/login/password"], []),
            (["askExistingAccount": false], []), (["passwordURL": "https://app.example.com/login#form"], []),
        ] as [([String: any Sendable], [String])])
    func asksOnlyWhereItCanSendPeople(login: [String: any Sendable], keys: [String]) throws {
        #expect(try fixture.problems(["login": login]).map(\.key) == keys)
    }

    @Test(arguments: ["upgradesPerMinute", "upgradesPerAccount"], [0, -1, 100_000_000])
    func refusesLimits(name: String, value: Int) throws {
        let found = try fixture.problems(["server": ["limits": [name: value]]])
        #expect(found.map(\.key) == ["server.limits.\(name)"])
    }
}
