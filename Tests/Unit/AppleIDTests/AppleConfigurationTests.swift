import AppleID
import Crypto
import HTTP
import Testing

@testable import Accounts

struct AppleConfigurationTests {
    @Test func acceptsValuesOfApplesPortal() throws {
        let configuration = try Apple.configuration()
        #expect(configuration.clientIDs == [ClientID("com.example.web"), ClientID("com.example.app")])
        #expect(configuration.signingKeys.current.id == "KEY1234567")
    }

    /// GHSA-x6fw-778m-wr9v: an audience left empty accepted any token.
    @Test(
        arguments: [
            ("apple.servicesID", { @Sendable () throws in try Apple.configuration { $0.servicesID = "" } }),
            ("apple.servicesID", { @Sendable () throws in try Apple.configuration { $0.servicesID = " " } }),
            ("apple.bundleIDs", { @Sendable () throws in try Apple.configuration { $0.bundleIDs = [""] } }),
            (
                "apple.bundleIDs",
                { @Sendable () throws in try Apple.configuration { $0.bundleIDs = [Apple.servicesID] } }
            ),
            ("apple.teamID", { @Sendable () throws in try Apple.configuration { $0.teamID = "" } }),
            ("apple.keyID", { @Sendable () throws in try Apple.configuration { $0.key.id = "" } }),
            ("apple.privateKeyFile", { @Sendable () throws in try Apple.configuration { $0.key.pem = Secret("") } }),
            ("apple.issuers", { @Sendable () throws in try Apple.configuration { $0.issuers = [] } }),
            ("apple.issuers", { @Sendable () throws in try Apple.configuration { $0.issuers = [""] } }),
            ("apple.endpoint", { @Sendable () throws in try Apple.configuration { $0.endpoint = "" } }),
            ("redirect URI", { @Sendable () throws in try Apple.configuration(redirectURI: "") }),
            ("redirect URI", { @Sendable () throws in try Apple.configuration(redirectURI: "https://a.example/b#c") }),
            ("apple.scopes", { @Sendable () throws in try Apple.configuration { $0.scopes = ["openid"] } }),
            ("User-Agent", { @Sendable () throws in try Apple.configuration(userAgent: "a\r\nb") }),
        ] as [(String, @Sendable () throws -> AppleConfiguration)])
    func refusesAndNames(key: String, make: @Sendable () throws -> AppleConfiguration) {
        let error = #expect(throws: AppleConfigurationError.self) { try make() }
        #expect(error?.problems.count == 1)
        #expect(error?.problems.first?.contains(key) == true)
    }

    @Test func reportsEveryProblemAtOnce() {
        let error = #expect(throws: AppleConfigurationError.self) {
            try Apple.configuration {
                ($0.servicesID, $0.bundleIDs, $0.teamID, $0.key.id, $0.issuers) = ("", [], "", "", [])
            }
        }
        #expect(error?.problems.count == 4)
    }

    @Test(arguments: [
        ("https://appleid.apple.com", ClientURL(isSecure: true, host: "appleid.apple.com", port: 443, target: "/x")),
        ("https://appleid.apple.com/", ClientURL(isSecure: true, host: "appleid.apple.com", port: 443, target: "/x")),
        ("http://127.0.0.1:8081", ClientURL(isSecure: false, host: "127.0.0.1", port: 8081, target: "/x")),
        ("http://[::1]:8081", ClientURL(isSecure: false, host: "::1", port: 8081, target: "/x")),
        ("https://[2001:db8::7]/", ClientURL(isSecure: true, host: "2001:db8::7", port: 443, target: "/x")),
        ("http://localhost:8081/apple", ClientURL(isSecure: false, host: "localhost", port: 8081, target: "/apple/x")),
    ])
    func readsAnEndpoint(text: String, url: ClientURL) {
        #expect(AppleEndpoint(parsing: text)?.url("/x") == url)
    }

    @Test(arguments: [
        "", "appleid.apple.com", "ftp://a.example", "https://", "https:///x", "https://a.example:0",
        "https://a.example:x",
        "https://a.example:70000", "https://a.example:+1", "https://u@a.example", "https://a.example/?q", "https://a b",
        "HTTPS//a.example", "https://[a.example]", "https://[::1", "https://a.example:1:2",
    ])
    func refusesAnEndpoint(text: String) {
        #expect(AppleEndpoint(parsing: text) == nil)
    }
}
