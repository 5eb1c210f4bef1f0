import Bramley
import Foundation
import Testing

@testable import Accounts

struct ConfigurationWebhooksTests {
    let fixture = ConfigurationFixture()
    static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    static let other = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="

    private func problems(_ webhooks: [String: Any]) throws -> [String] {
        try fixture.problems(["webhooks": webhooks]).map(\.key)
    }

    @Test func nothingIsSentByDefault() throws {
        #expect(try fixture.load().configuration.webhooks.isEmpty)
        #expect(try fixture.load(["webhooks": ["url": [String]()]]).configuration.webhooks.isEmpty)
    }

    @Test(
        arguments: [
            ("https://app.example.com/hook" as any Sendable, ["https://app.example.com/hook"]),
            (["https://app.example.com"], ["https://app.example.com/"]),
            (
                ["https://a.example.com/x/", "http://localhost:8000/hook", "https://10.0.0.7:8443/"],
                ["https://a.example.com/x/", "http://localhost:8000/hook", "https://10.0.0.7:8443/"]
            ),
            (
                [
                    "https://a.example.com/x?token=s&b=/y", "https://a.example.com?token=t", "https://a.example.com/x?",
                    "https://[2001:db8::1]/hook", "https://[2001:db8::1]:8443?a", "http://[::1]:8000",
                ],
                [
                    "https://a.example.com/x?token=s&b=/y", "https://a.example.com/?token=t",
                    "https://a.example.com/x?",
                    "https://[2001:db8::1]/hook", "https://[2001:db8::1]:8443/?a", "http://[::1]:8000/",
                ]
            ),
        ])
    func readsOneAddressOrSeveral(value: any Sendable, urls: [String]) throws {
        let loaded = try fixture.load(["webhooks": ["url": value, "secret": Self.secret]])
        #expect(loaded.configuration.webhooks.map(\.url) == urls)
        #expect(
            loaded.configuration.webhooks.map(\.events)
                == urls.map { _ in Set(JournalEntry.Kind.allCases) })
        #expect(loaded.warnings.isEmpty)
    }

    @Test func readsTheEnvironment() throws {
        let webhooks = try fixture.load(environment: [
            "BRAMLEY_WEBHOOKS_URL": "https://a.example/,https://b.example/",
            "BRAMLEY_WEBHOOKS_SECRET": Self.secret + "\\n" + Self.other,
            "BRAMLEY_WEBHOOKS_EVENTS": "user.created,session.ended",
        ]).configuration.webhooks
        #expect(webhooks.map(\.url) == ["https://a.example/", "https://b.example/"])
        for endpoint in webhooks {
            #expect(endpoint.events == [.userCreated, .sessionEnded])
            guard case .inline(let secrets) = endpoint.secrets else {
                Issue.record("no inline secret")
                return
            }
            #expect(secrets.all.count == 2)
        }
    }

    @Test(arguments: [
        "http://app.example.com/hook", "ftp://app.example.com", "app.example.com", "", "https://app.example.com/?a#b",
        "http://[2001:db8::1]/", "https://[2001:db8:0::1]/", "https://[2001:DB8::1]/", "https://[fe80::1%25eth0]/",
        "https://[1.2.3.4]/", "https://[]/", "https://[::1", "https://[::1]x/", "https://[::1]:0/",
        "https://2001:db8::1/",
        "https://u:p@app.example.com/", "https://app.example.com/#x", "https://APP.example.com/",
        "http://localhost.example.com/", "https://app.example.com/ö", "//app.example.com/", "file:///etc/passwd",
    ])
    func refusesAnAddress(url: String) throws {
        #expect(try problems(["url": url, "secret": Self.secret]) == ["webhooks.url"])
        #expect(try problems(["url": ["https://good.example/", url], "secret": Self.secret]) == ["webhooks.url"])
    }

    @Test func aRefusedAddressDoesNotShowItsQuery() throws {
        for url in ["http://app.example.com/hook?token=secret", "https://APP.example.com/hook?token=secret"] {
            let problems = try fixture.problems(["webhooks": ["url": url, "secret": Self.secret]])
            #expect(problems.count == 1)
            #expect(problems.allSatisfy { !"\($0)".contains("secret") && "\($0)".contains("/hook?...") })
        }
    }

    @Test func refusesAnAddressOrItsEntryTwice() throws {
        #expect(
            try problems(["url": ["https://a.example", "https://a.example/"], "secret": Self.secret])
                == ["webhooks.url"])
        let events = ["https://c.example account.deleted", "https://c.example/ user.created"]
        #expect(try problems(["url": Self.three, "secret": Self.secret, "events": events]) == ["webhooks.events"])
    }

    @Test(
        arguments: [
            ("\(secret)\n", []), ("\(secret)\r\n\n  \(other)\n", []), ("", ["webhooks.secretFile"]),
            ("\n", ["webhooks.secretFile"]), ("\(secret)\nhunter2", ["webhooks.secretFile"]),
            ("whsec_aHVudGVyMg==", ["webhooks.secretFile"]),
        ] as [(String, [String])])
    func judgesASecretFile(text: String, keys: [String]) throws {
        let path = try fixture.write(text, to: "webhook.secret")
        let found = try fixture.problems(["webhooks": ["url": "https://a.example/", "secretFile": path]])
        #expect(found.map(\.key) == keys)
        #expect(!ConfigurationFailure(problems: found).description.contains("hunter2"))
        #expect(!ConfigurationFailure(problems: found).description.contains("aHVudGVyMg"))
    }

    @Test(
        arguments: [(0o600, nil), (0o640, .warning), (0o644, .error), (0o620, .error)]
            as [(Int, ConfigurationProblem.Severity?)])
    func judgesTheFilesPermissions(mode: Int, severity: ConfigurationProblem.Severity?) throws {
        let path = try fixture.write(Self.secret, to: "webhook.secret", mode: mode)
        let found = try fixture.problems(["webhooks": ["url": "https://a.example/", "secretFile": path]])
        #expect(found.map(\.severity) == (severity.map { [$0] } ?? []))
    }

    @Test func refusesBothSpellingsAndNeither() throws {
        let path = try fixture.write(Self.secret, to: "webhook.secret")
        let both = ["url": "https://a.example/", "secretFile": path, "secret": Self.secret]
        #expect(try problems(both) == ["webhooks.secretFile"])
        #expect(try problems(["url": "https://a.example/"]) == ["webhooks.secretFile"])
        #expect(
            try problems(["url": "https://a.example/", "secretFile": fixture.directory.path + "/none"])
                == ["webhooks.secretFile"])
    }

    @Test func refusesASecretOnTheCommandLine() throws {
        let found = try fixture.problems(
            ["webhooks": ["url": "https://a.example/"]], flags: ["--webhooks-secret", Self.secret])
        #expect(found.map(\.key) == ["webhooks.secret"])
        #expect(!ConfigurationFailure(problems: found).description.contains("MDEyMz"))
    }

    @Test(arguments: [[], ["user.create"], ["user.created", "USER.CREATED"], ["user.created", "user.created"], ["*"]])
    func refusesEvents(names: [String]) throws {
        #expect(
            try problems(["url": "https://a.example/", "secret": Self.secret, "events": names]) == ["webhooks.events"])
    }

    private static let three = ["https://a.example/", "https://b.example/x", "https://c.example/"]

    @Test func readsASecretForEachAddress() throws {
        let one = try fixture.write(Self.secret, to: "one.secret")
        let two = try fixture.write(Self.other, to: "two.secret")
        let found = try fixture.load(["webhooks": ["url": Self.three, "secretFile": [one, two, one]]]).configuration
        let paths = found.webhooks.map { endpoint -> String in
            if case .file(let path) = endpoint.secrets { return path }
            return "inline"
        }
        #expect(paths == [one, two, one])
        let inline = try fixture.load(
            environment: [
                "BRAMLEY_WEBHOOKS_URL": "https://a.example/,https://b.example/",
                "BRAMLEY_WEBHOOKS_SECRET": "\(Self.secret),\(Self.other)\\n\(Self.secret)",
            ]
        ).configuration
        let counts = inline.webhooks.map { endpoint -> Int in
            if case .inline(let secrets) = endpoint.secrets { return secrets.all.count }
            return 0
        }
        #expect(counts == [1, 2])
    }

    @Test func refusesAnotherNumberOfSecrets() throws {
        let one = try fixture.write(Self.secret, to: "one.secret")
        #expect(try problems(["url": Self.three, "secretFile": [one, one]]) == ["webhooks.secretFile"])
        #expect(try problems(["url": "https://a.example/", "secretFile": [one, one]]) == ["webhooks.secretFile"])
        #expect(
            try problems(["url": Self.three, "secret": [Self.secret, "hunter2", Self.other]]) == ["webhooks.secret"])
        #expect(
            try problems(["url": Self.three, "secretFile": [one, one, fixture.directory.path + "/none"]])
                == ["webhooks.secretFile"])
    }

    @Test func readsEventsForOneAddress() throws {
        let events = [
            "user.created", "https://b.example/x account.deleted  session.ended", "session.created",
            // Without the slash that webhooks.url may leave out too.
            "https://c.example email.enabled",
        ]
        let found = try fixture.load(["webhooks": ["url": Self.three, "secret": Self.secret, "events": events]])
        #expect(
            found.configuration.webhooks.map(\.events) == [
                [.userCreated, .sessionCreated], [.accountDeleted, .sessionEnded], [.emailEnabled],
            ])
        let rest = try fixture.load([
            "webhooks": [
                "url": Self.three, "secret": Self.secret, "events": ["https://b.example/x account.deleted"],
            ]
        ])
        let all = Set(JournalEntry.Kind.allCases)
        #expect(rest.configuration.webhooks.map(\.events) == [all, [.accountDeleted], all])
    }

    @Test(arguments: [
        "https://d.example/ account.deleted", "https://b.example/x", "https://b.example/x account.delete",
        "https://b.example/y account.deleted", "http://b.example/x account.deleted", "https://b.example/x ,",
        "account.deleted https://b.example/x", "https://b.example/x\taccount.deleted",
    ])
    func refusesAnEntryForOneAddress(entry: String) throws {
        let found = try fixture.problems([
            "webhooks": ["url": Self.three, "secret": Self.secret, "events": ["user.created", entry]]
        ])
        #expect(found.map(\.key) == ["webhooks.events"])
    }
}
