package import Crypto
package import HTTP
package import RelyingParty
package import Sockets
package import Web

/// The whole configuration: validated, plain values. `ConfigurationLoader` is its only maker outside of tests.
package struct Configuration: Sendable {
    package var publicURL: PublicURL
    package var access: Access
    package var server: Server
    package var admin: Listener
    package var apple: Apple
    package var login: WebConfiguration.Login
    package var forwardAuth: ForwardAuth
    package var api: API
    package var button: SignInButton
    package var site: WebConfiguration.Site
    package var pages: Pages
    package var sessions: WebConfiguration.Sessions
    package var storage: Storage
    package var secrets: Secrets
    package var retention: RetentionPolicy
    package var assertion: Assertion
    /// Nil: no events are sent.
    package var webhooks: Webhooks?
    /// Nil: nobody knows any passwords, and there is nothing to upgrade.
    package var upgrade: Upgrade?
    package var log: Log
    /// How other servers are reached: what the environment says in `HTTPS_PROXY` and `NO_PROXY`.
    package var wayOut: ProxySettings
    /// Of what it was made.
    package var snapshot = ConfigurationSnapshot()

    package struct Access: Sendable {
        package var signUp: SignUpPolicy
    }

    /// An address and port to listen on.
    package struct Listener: Hashable, Sendable {
        package var host: IPAddress
        package var port: UInt16
    }

    package struct Server: Sendable {
        package var listener: Listener
        /// Event loops; 0 means one per core.
        package var threads: Int
        /// Nil: plain HTTP.
        package var tls: TLS?
        /// Of a plain listener on the same address that only sends visitors to https; nil: there is none.
        package var redirectPort: UInt16?
        package var trustedProxies: [IPNetwork]
        /// Whether every connection begins with a PROXY header; there is a trusted proxy then.
        package var proxyProtocol: Bool
        /// Seconds that requests in flight may take after SIGTERM.
        package var drainTimeout: Int
        package var limits: Limits
    }

    /// What visitors' connections are encrypted with: read, and known to belong together.
    package struct TLS: Sendable {
        /// The chain as PEM.
        package var certificate: [UInt8]
        /// Where that was read; nil when the configuration holds it.
        package var certificateFile: String?
        /// As PEM.
        package var privateKey: Secret
        package var privateKeyFile: String?
    }

    /// `server.limits.*`: bytes, counts, seconds and a rate. Each is inclusive.
    package struct Limits: Hashable, Sendable {
        package var requestLine: Int
        package var headerBlock: Int
        package var fieldCount: Int
        package var body: Int
        package var connections: Int
        package var connectionsPerAddress: Int
        package var handshakeTimeout: Int
        package var headerTimeout: Int
        package var bodyTimeout: Int
        package var writeTimeout: Int
        package var idleTimeout: Int
        /// A second, at Apple.
        package var credentialChecks: Int
        /// Passwords that one address may try in a minute.
        package var upgradesPerMinute: Int
        /// Passwords that may be tried at one account in 15 minutes.
        package var upgradesPerAccount: Int
        /// Login and link pages, attempts and callbacks of one address in a minute.
        package var signInsPerMinute: Int
        /// Exports of one address in a minute.
        package var exportsPerMinute: Int
    }

    package struct Apple: Sendable {
        package var servicesID: String
        package var bundleIDs: [String]
        package var teamID: String
        package var keyID: String
        /// The .p8 as PEM; known to hold a P-256 private key.
        package var privateKeyPEM: Secret
        /// Where that was read; nil when the configuration holds it.
        package var privateKeyFile: String?
        /// The key that takes over, if there is one.
        package var nextKey: NextKey?
        /// A subset of `name` and `email`, in this order.
        package var scopes: [String]
        package var issuers: [String]
        /// An origin without trailing slash.
        package var endpoint: String
        /// May hold `{locale}`.
        package var scriptURL: String
        package var nativeNonce: NativeNonce
        package var onAccountDeleted: AccountDeletionPolicy
        /// Whether any of the addresses above is not Apple's: what the database is stamped with.
        package var isSimulated: Bool
        /// Simulated on a publicURL that is not for tests, by the flag alone: every page says so.
        package var showsSimulationBanner: Bool
    }

    /// `apple.nextKeyID` and what belongs to it; another key than the first.
    package struct NextKey: Sendable {
        package var keyID: String
        /// As for the first key.
        package var privateKeyPEM: Secret
        package var privateKeyFile: String?
    }

    package struct ForwardAuth: Sendable {
        package var style: OriginalRequest.Style
        /// Nil lets everybody in who is signed in.
        package var rules: AccessRules?
        /// SHA-256 of their text.
        package var digest: Digest256?
    }

    package struct API: Sendable {
        /// Exact origins whose pages may ask who is signed in (CORS).
        package var allowedOrigins: [String]
    }

    /// What pages are made of.
    package struct Pages: Hashable, Sendable {
        /// As it was named; nil when every page is the built-in one.
        package var directory: String?
        /// Languages there are texts of, at least one; the first is the default.
        package var locales: [String]
        /// The directory's files, validated: path below `Public/` → content.
        package var files: [String: [UInt8]]
    }

    package struct Storage: Hashable, Sendable {
        /// Without trailing slash; a path of the file has begun at the file's folder.
        package var directory: String
    }

    package struct Secrets: Sendable {
        package var sealingKey: SealingKeySource
        /// Keys that only open. Each 32 bytes.
        package var previousSealingKeys: [SecretBytes]
    }

    /// Where the sealing key is.
    package enum SealingKeySource: Sendable {
        /// The file may be missing: it is made together with a new database, and only then.
        case file(path: String)
        case inline(SecretBytes)
    }

    package struct Assertion: Hashable, Sendable {
        /// Whom signed assertions are made for; none makes none.
        package var audiences: [AssertionAudience]
        /// Those that somebody needs keys of.
        package var algorithms: [SigningAlgorithm] {
            SigningAlgorithm.allCases.filter { algorithm in audiences.contains { $0.algorithm == algorithm } }
        }
    }

    package struct Webhooks: Sendable {
        /// At least one, each address once.
        package var endpoints: [Endpoint]
        package var urls: [String] { endpoints.map(\.url) }

        package struct Endpoint: Sendable {
            package var url: String
            package var secrets: WebhookSecretSource
            /// What is sent there.
            package var events: Set<JournalEntry.Kind>
        }
    }

    package struct Upgrade: Sendable {
        package var verifierURL: String
        package var secrets: WebhookSecretSource
        /// `/.well-known/change-password` leads to the upgrade page.
        package var changePassword: Bool
    }

    /// Where the secrets are that sign webhooks, or questions to the verifier.
    package enum WebhookSecretSource: Sendable {
        /// Known to be good; read again when it changes.
        case file(path: String)
        case inline(WebhookSecrets)
    }

    package struct Log: Hashable, Sendable {
        package var level: LogLevel
        package var format: LogFormat
        /// `log.requests` and `log.clients`.
        package var access: WebConfiguration.AccessLog
    }
}

/// `log.level`, in swift-log's words.
package enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// `log.format`.
package enum LogFormat: String, Sendable, CaseIterable {
    case json, text
}
