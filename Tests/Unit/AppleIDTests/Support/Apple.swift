import AppleID
import Coding
import Crypto
import HTTP
import IndependentSigning

@testable import Accounts

/// One provider over a scripted Apple that answers with the independent signer's keys.
struct Apple {
    static let servicesID = "com.example.web"
    static let bundleID = "com.example.app"
    static let redirectURI = "https://login.example.com/apple/callback"
    static let subject = "001234.0123456789abcdef0123456789abcdef.0123"

    let signer = IndependentSigner.shared
    let clock = TestClock()
    let transport = ScriptedTransport()
    let archive: MemoryArchive
    let configuration: AppleConfiguration
    let provider: AppleIdentityProvider

    init(archive: MemoryArchive = MemoryArchive(), scopes: [String] = ["name", "email"]) throws {
        self.archive = archive
        configuration = try Self.configuration { $0.scopes = scopes }
        provider = AppleIdentityProvider(
            configuration: configuration, transport: transport, archive: archive, runtime: testRuntime(clock))
        try publish([IndependentSigner.firstKey])
    }

    static func configuration(
        redirectURI: String = redirectURI, userAgent: String = AppleConfiguration.defaultUserAgent,
        _ change: (inout AppleSettings) -> Void = { _ in }
    ) throws -> AppleConfiguration {
        var settings = AppleSettings()
        (settings.servicesID, settings.bundleIDs, settings.teamID) = (servicesID, [bundleID], "TEAM123456")
        (settings.key.id, settings.key.pem) = ("KEY1234567", Secret(try clientSecretPEM.get()))
        settings.scopes = ["name", "email"]
        change(&settings)
        return try AppleConfiguration(settings, redirectURI: redirectURI, userAgent: userAgent)
    }

    /// The .p8 of every test, known to the signer by this name.
    static let clientSecretKey = "client-secret"
    static let clientSecretPEM = Result { try IndependentSigner.shared.makeP256Key(clientSecretKey) }

    func publish(_ kids: [String]) throws {
        transport.answer("/auth/keys", try signer.keySet(kids))
    }

    var keyFetches: Int { transport.requests(to: "/auth/keys").count }
}

/// Claims as a test changes them: names to JSON texts, in order.
struct Claims {
    private var object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    /// What Apple's identity tokens hold, for this nonce and code.
    static func identity(
        nonce: String = "n0nce", code: String? = "c0de", at now: Timestamp = TestClock.start
    ) -> Claims {
        var claims = Claims([
            "iss": "https://appleid.apple.com", "aud": .string(Apple.servicesID), "exp": .integer(now.seconds + 86_400),
            "iat": .integer(now.seconds), "sub": .string(Apple.subject), "nonce": .string(nonce),
            "email": "ada@example.com", "email_verified": true, "auth_time": .integer(now.seconds),
            "nonce_supported": true,
        ])
        if let code { claims["c_hash"] = .string(halfHash(code)) }
        return claims
    }

    /// What Apple's notifications hold.
    static func notification(
        _ type: String = "consent-revoked", at now: Timestamp = TestClock.start, events: JSONValue? = nil
    ) -> Claims {
        let event: JSONObject = [
            "type": .string(type), "sub": .string(Apple.subject), "event_time": .integer(now.milliseconds - 2000),
        ]
        return Claims([
            "iss": "https://appleid.apple.com", "aud": .string(Apple.bundleID), "exp": .integer(now.seconds + 86_400),
            "iat": .integer(now.seconds), "jti": "abcDEF123",
            "events": events ?? .string(String(decoding: JSONWriter.encode(event), as: UTF8.self)),
        ])
    }

    subscript(name: String) -> JSONValue? {
        get { object[name] }
        set { object[name] = newValue }
    }

    func setting(_ name: String, _ value: JSONValue?) -> Claims {
        var copy = self
        copy[name] = value
        return copy
    }

    var json: String { String(decoding: JSONWriter.encode(object), as: UTF8.self) }

    /// `c_hash` and `at_hash`, OpenID Connect Core §3.3.2.11.
    static func halfHash(_ text: String) -> String {
        Base64URL.encode(Array(SHA256.hash(utf8: text).bytes[..<16]))
    }
}
