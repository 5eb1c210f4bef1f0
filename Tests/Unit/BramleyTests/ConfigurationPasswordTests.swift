import Accounts
import Bramley
import Foundation
import Testing
import Web

/// The site's own passwords, of which Bramley knows only where they are used and changed.
struct ConfigurationPasswordTests {
    let fixture = ConfigurationFixture()

    @Test("by default no page links to passwords or asks about an account")
    func byDefault() throws {
        let web = try fixture.load().configuration.web
        #expect(
            web.login.passwordURL == nil && web.login.changePasswordURL == nil && !web.signIn.asksExisting)
    }

    @Test("the environment names where they are used and changed")
    func readsTheEnvironment() throws {
        let web = try fixture.load(environment: [
            "BRAMLEY_LOGIN_ASK_EXISTING_ACCOUNT": "true",
            "BRAMLEY_LOGIN_PASSWORD_URL": "https://app.example.com/login?from=apple",
            "BRAMLEY_LOGIN_CHANGE_PASSWORD_URL": "/settings/password",
        ]).configuration.web
        #expect(web.signIn.asksExisting)
        #expect(web.login.passwordURL == "https://app.example.com/login?from=apple")
        #expect(web.login.changePasswordURL == "/settings/password")
    }

    @Test(
        "the page for changing a password is an https address or a path of the host",
        arguments: [
            "https://app.example.com/password", "https://app.example.com/password?a=1#change", "/password", "/",
            "/password?a=1",
        ])
    func acceptsAnAddress(url: String) throws {
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

    @Test("the former keys for passwords are refused")
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
