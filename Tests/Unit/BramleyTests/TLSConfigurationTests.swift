import Certificates
import Coding
import Crypto
import Foundation
import HTTP
import Sockets
import Testing

@testable import Accounts
@testable import Bramley

/// `server.certificateFile`, `.privateKeyFile`, their twins, and the plain port: accepted values and messages.
struct TLSConfigurationTests {
    static let maker = Result { try CertificateMaker() }

    let fixture: ConfigurationFixture
    let maker: CertificateMaker

    init() throws {
        fixture = ConfigurationFixture()
        maker = try Self.maker.get()
    }

    /// Moved against the machine's own, so that good certificates are early or late.
    private struct MovedClock: WallClock {
        var days: Int64
        func now() -> Timestamp { SystemClock().now().adding(seconds: days * 86_400) }
    }

    private func write(_ certificate: String, _ key: String, mode: Int = 0o600) throws -> [String: Any] {
        [
            "certificateFile": try fixture.write(certificate, to: "fullchain.pem", mode: 0o644),
            "privateKeyFile": try fixture.write(key, to: "privkey.pem", mode: mode),
        ]
    }

    private func problems(
        _ server: [String: Any], _ changes: [String: Any] = [:], days: Int64 = 0
    ) throws -> [ConfigurationProblem] {
        let path = try fixture.write(
            fixture.configuration(["server": server].merging(changes) { $1 }), to: "config.json")
        let input = ConfigurationInput(path: path, clock: MovedClock(days: days))
        do {
            return try ConfigurationLoader.load(input).warnings
        } catch {
            return error.problems
        }
    }

    @Test("A pair is accepted with damaged line ends", arguments: [" ", "", "\r\n", "\\n", "\n\t"])
    func acceptsAPastedPair(become: String) throws {
        let issued = try maker.issue(["id.example.com"])
        func pasted(_ text: String) -> String { "\u{FEFF}" + text.replacing("\n", with: become) }
        let loaded = try fixture.load(["server": try write(pasted(issued.chain), pasted(issued.key))])
        #expect(loaded.configuration.server.tls != nil)
        let environment = [
            "BRAMLEY_SERVER_CERTIFICATE": "\"" + pasted(issued.chain) + "\"",
            "BRAMLEY_SERVER_PRIVATE_KEY": pasted(issued.key),
        ]
        #expect(try fixture.load(["server": [:]], environment: environment).configuration.server.tls != nil)
    }

    @Test func thereIsNoneUnlessItIsNamed() throws {
        let server = try fixture.load().configuration.server
        #expect(server.tls == nil)
        #expect(server.redirectPort == nil)
        #expect(!server.proxyProtocol)
        #expect(server.limits.timeouts.handshake == 10_000)
    }

    @Test(arguments: [CertificateMaker.Key.p256, .p384, .rsa2048]) func readsThePair(key: CertificateMaker.Key) throws {
        let issued = try maker.issue(["id.example.com"], key: key)
        let loaded = try fixture.load(["server": try write(issued.chain, issued.key)])
        #expect(loaded.warnings.isEmpty)
        let tls = try #require(loaded.configuration.server.tls)
        #expect(tls.certificate == Array(issued.chain.utf8))
        #expect(tls.privateKey.reveal() == issued.key)
        #expect(tls.certificateFile?.hasSuffix("/fullchain.pem") == true)
        #expect(tls.privateKeyFile?.hasSuffix("/privkey.pem") == true)
        #expect(!"\(tls)".contains("PRIVATE"))
    }

    @Test func readsThePairFromTheEnvironment() throws {
        let issued = try maker.issue(["*.example.com"])
        let loaded = try fixture.load(environment: [
            "BRAMLEY_SERVER_CERTIFICATE": issued.chain.replacing("\n", with: "\\n"),
            "BRAMLEY_SERVER_PRIVATE_KEY": issued.key,
        ])
        #expect(loaded.warnings.isEmpty)
        let tls = try #require(loaded.configuration.server.tls)
        #expect(tls.certificateFile == nil && tls.privateKeyFile == nil)
        #expect(tls.certificate == Array(issued.chain.utf8))
    }

    @Test func readsThePairFromOneFileThatOnlyItsOwnerReads() throws {
        let issued = try maker.issue(["id.example.com"])
        let both = try fixture.write(issued.chain + issued.key, to: "both.pem")
        #expect(try fixture.load(["server": ["certificateFile": both, "privateKeyFile": both]]).warnings.isEmpty)
        let open = try fixture.write(issued.chain + issued.key, to: "open.pem", mode: 0o644)
        let problems = try problems(["certificateFile": open, "privateKeyFile": both])
        #expect(problems.map(\.key) == ["server.certificateFile"])
    }

    /// What is given, by placeholder, and the key that is complained about.
    @Test(arguments: [
        ("no key", ["certificateFile": "@CHAIN@"], "server.privateKeyFile"),
        ("no certificate", ["privateKeyFile": "@KEY@"], "server.certificateFile"),
        (
            "both spellings of one",
            ["certificateFile": "@CHAIN@", "certificate": "x", "privateKeyFile": "@KEY@"], "server.certificateFile"
        ),
        ("no file", ["certificateFile": "/nonexistent.pem", "privateKeyFile": "@KEY@"], "server.certificateFile"),
        (
            "no key's file", ["certificateFile": "@CHAIN@", "privateKeyFile": "/nonexistent.pem"],
            "server.privateKeyFile"
        ),
        ("a key for a certificate", ["certificateFile": "@KEY@", "privateKeyFile": "@KEY@"], "server.certificateFile"),
        (
            "a certificate for a key", ["certificateFile": "@CHAIN@", "privateKeyFile": "@CHAIN@"],
            "server.privateKeyFile"
        ),
        ("another's key", ["certificateFile": "@CHAIN@", "privateKeyFile": "@OTHERKEY@"], "server.privateKeyFile"),
        ("the issuer first", ["certificateFile": "@REVERSED@", "privateKeyFile": "@KEY@"], "server.certificateFile"),
        ("half a file", ["certificateFile": "@HALF@", "privateKeyFile": "@KEY@"], "server.certificateFile"),
        ("another name", ["certificateFile": "@OTHER@", "privateKeyFile": "@OTHERKEY@"], "server.certificateFile"),
        ("a passphrase", ["certificateFile": "@CHAIN@", "privateKeyFile": "@ENCRYPTED@"], "server.privateKeyFile"),
        (
            "a key everybody reads", ["certificateFile": "@CHAIN@", "privateKeyFile": "@OPENKEY@"],
            "server.privateKeyFile"
        ),
        (
            "a chain everybody writes", ["certificateFile": "@WRITABLE@", "privateKeyFile": "@KEY@"],
            "server.certificateFile"
        ),
        ("RSA of 1024 bits", ["certificateFile": "@WEAK@", "privateKeyFile": "@WEAKKEY@"], "server.certificateFile"),
        (
            "a curve of no browser", ["certificateFile": "@ODD@", "privateKeyFile": "@ODDKEY@"],
            "server.certificateFile"
        ),
        ("Ed25519", ["certificateFile": "@ED@", "privateKeyFile": "@EDKEY@"], "server.certificateFile"),
    ])
    func refusesWhatCannotBeServed(what: String, server: [String: String], key: String) throws {
        let good = try maker.issue(["id.example.com"])
        let other = try maker.issue(["www.example.org"])
        // Cases run beside each other in one folder.
        let keyFile = "\(UUID().uuidString).key"
        try maker.write(good.key, to: keyFile)
        var places: [String: String] = [:]
        func place(_ name: String, _ text: String, mode: Int = 0o600) throws {
            places["@\(name)@"] = try fixture.write(text, to: "\(name).pem", mode: mode)
        }
        try place("CHAIN", good.chain)
        try place("KEY", good.key)
        try place("OTHER", other.chain)
        try place("OTHERKEY", other.key)
        try place("REVERSED", good.issuer + good.leaf)
        try place("HALF", String(good.leaf.prefix(300)))
        try place("ENCRYPTED", maker.run("openssl pkey -in \(keyFile) -aes256 -passout pass:x"))
        try place("OPENKEY", good.key, mode: 0o644)
        try place("WRITABLE", good.chain, mode: 0o666)
        for (name, kind) in [("WEAK", CertificateMaker.Key.rsa1024), ("ODD", .secp256k1), ("ED", .ed25519)] {
            let issued = try maker.issue(["id.example.com"], key: kind)
            try place(name, issued.chain)
            try place(name + "KEY", issued.key)
        }
        let problems = try problems(server.mapValues { places[$0] ?? $0 })
        #expect(problems.filter { $0.severity == .error }.map(\.key) == [key], "\(what): \(problems)")
        #expect(!problems.contains { $0.description.contains("MIG") || $0.description.contains("MII") })
    }

    @Test func inlineKeyAsAFlagIsRefused() throws {
        let problems = try fixture.problems(flags: ["--server-private-key", "x"])
        #expect(problems.contains { $0.key == "server.privateKey" && $0.fault.contains("secret") })
    }

    @Test func httpAndACertificateContradictEachOther() throws {
        let issued = try maker.issue(["localhost"])
        let problems = try problems(
            try write(issued.chain, issued.key), ["publicURL": "http://localhost:8080"])
        #expect(problems.filter { $0.severity == .error }.map(\.key) == ["server.certificateFile"])
    }

    /// 90 days from now on: near its end below a fifth of them.
    @Test(
        arguments: [
            (-1, "is not valid before"), (0, nil), (71, nil), (73, "expires at"), (89, "expires at"),
            (91, "expired at"),
        ] as [(Int64, String?)])
    func validityIsChecked(days: Int64, said: String?) throws {
        let issued = try maker.issue(["id.example.com"], days: 90)
        let problems = try problems(try write(issued.chain, issued.key), days: days)
        #expect(problems.count == (said == nil ? 0 : 1))
        #expect(problems.allSatisfy { $0.severity == .warning && $0.key == "server.certificateFile" })
        if let said { #expect(problems.first?.fault.contains(said) == true, "\(problems)") }
    }

    /// A year and more from now on: near its end below three weeks.
    @Test(arguments: [(370, 0), (378, 1)]) func longCertificatesWarnThreeWeeksBefore(days: Int64, count: Int) throws {
        let issued = try maker.issue(["id.example.com"], days: 398)
        #expect(try problems(try write(issued.chain, issued.key), days: days).count == count)
    }

    @Test func chainsThatSomeClientsCannotFollowAreNamed() throws {
        let issued = try maker.issue(["id.example.com"])
        let own = try maker.selfSigned("id.example.com")
        for (chain, key, words) in [
            (issued.leaf, issued.key, "no intermediate certificate"),
            (issued.leaf + (try maker.root()) + issued.issuer, issued.key, "did not issue number 1"),
            (own.certificate, own.key, "self-signed"),
        ] {
            let problems = try problems(try write(chain, key))
            #expect(problems.map(\.severity) == [.warning], "\(words)")
            #expect(problems.first?.fault.contains(words) == true, "\(problems)")
        }
    }

    @Test(
        arguments: [
            (["redirectPort": 8080], [:], "server.redirectPort"), (["redirectPort": 9090], [:], "admin.port"),
            (["redirectPort": 80], ["publicURL": "http://localhost:8080"], "server.redirectPort"),
            (["redirectPort": 0], [:], "server.redirectPort"), (["proxyProtocol": true], [:], "server.proxyProtocol"),
            (["limits": ["handshakeTimeout": 0]], [:], "server.limits.handshakeTimeout"),
            (["limits": ["handshakeTimeout": 61]], [:], "server.limits.handshakeTimeout"),
        ] as [([String: any Sendable], [String: any Sendable], String)])
    func refusesUnsupportedKeys(server: [String: any Sendable], changes: [String: any Sendable], key: String) throws {
        let problems = try problems(server, changes)
        #expect(problems.filter { $0.severity == .error }.map(\.key) == [key], "\(problems)")
    }

    @Test func acceptsSupportedKeys() throws {
        let server = try fixture.load([
            "server": [
                "redirectPort": 80, "proxyProtocol": true, "trustedProxies": ["10.0.0.0/8"],
                "limits": ["handshakeTimeout": 60],
            ] as [String: Any]
        ]).configuration.server
        #expect(server.redirectPort == 80)
        #expect(server.proxyProtocol)
        #expect(server.limits.timeouts.handshake == 60_000)
    }
}
