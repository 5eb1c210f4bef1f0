import Bramley
import Foundation
import Testing
import Web

/// The site's own passwords, of which Bramley knows only where they are used and changed.
struct ConfigurationPasswordTests {
    let fixture: ConfigurationFixture

    init() throws {
        fixture = try ConfigurationFixture()
    }

    @Test("by default there are none, and nobody is asked for an account")
    func byDefault() throws {
        let login = try fixture.load().configuration.web.login
        #expect(login.passwordURL == nil && login.changePasswordURL == nil && !login.askExistingAccount)
    }

    @Test("the environment names where they are used and changed")
    func readsTheEnvironment() throws {
        let login = try fixture.load(environment: [
            "BRAMLEY_LOGIN_ASK_EXISTING_ACCOUNT": "true",
            "BRAMLEY_LOGIN_PASSWORD_URL": "https://app.example.com/login?from=apple",
            "BRAMLEY_LOGIN_CHANGE_PASSWORD_URL": "/settings/password",
        ]).configuration.web.login
        #expect(login.askExistingAccount)
        #expect(login.passwordURL == "https://app.example.com/login?from=apple")
        #expect(login.changePasswordURL == "/settings/password")
    }

    @Test(
        "where a password is changed is an https address or a path of the host",
        arguments: [
            "https://app.example.com/password", "https://app.example.com/password?a=1#change", "/password", "/",
            "/password?a=1",
        ])
    func takesAnAddress(url: String) throws {
        let loaded = try fixture.load(["login": ["changePasswordURL": url]])
        #expect(loaded.configuration.web.login.changePasswordURL == url && loaded.warnings.isEmpty)
    }

    @Test(arguments: [
        "http://app.example.com/password", "javascript:alert(1)", "app.example.com/password", "//app.example.com/",
        "password", "", " ", "/\\app.example.com", "https://", "/a\u{0}b", "ftp://app.example.com/password",
    ])
    func refusesAnAddress(url: String) throws {
        #expect(
            try fixture.problems(["login": ["changePasswordURL": url]]).map(\.key) == ["login.changePasswordURL"])
    }

    @Test("what handled passwords is no key any more")
    func unknownKeys() throws {
        let found = try fixture.problems([
            "upgrade": ["verifierURL": "https://app.example.com/", "changePassword": true],
            "server": ["limits": ["upgradesPerMinute": 3, "upgradesPerAccount": 4]],
        ])
        #expect(!found.isEmpty && found.allSatisfy { $0.severity == .error })
        #expect(
            Set(found.map(\.key)).isSuperset(of: [
                "server.limits.upgradesPerMinute", "server.limits.upgradesPerAccount",
            ]))
        #expect(found.contains { $0.key.hasPrefix("upgrade") })
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
            (["askExistingAccount": true, "changePasswordURL": "/password"], ["login.askExistingAccount"]),
        ] as [([String: any Sendable], [String])])
    func asksOnlyWhereItCanSendPeople(login: [String: any Sendable], keys: [String]) throws {
        #expect(try fixture.problems(["login": login]).map(\.key) == keys)
    }
}
