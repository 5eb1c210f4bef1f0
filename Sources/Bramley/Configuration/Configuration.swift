package import Accounts
package import Crypto
package import HTTP
package import Sockets
package import Storage
package import Web

/// The whole configuration: validated values, in the types of the modules that use them. Only `ConfigurationLoader`
/// makes it; the initial values here are replaced by those of the keys or their defaults.
package struct Configuration: Sendable {
    package var publicURL = PublicURL.localhost
    package var access = Access()
    package var server = Server()
    /// `admin.host` and `admin.port`.
    package var admin = SocketAddress(ip: .v4(0), port: 0)
    package var apple = Apple()
    package var login = WebConfiguration.Login()
    package var forwardAuth = ForwardAuth()
    package var api = API()
    /// `operator.groups`.
    package var operatorGroups: [String] = []
    package var button = SignInButton()
    package var site = WebConfiguration.Site(name: "")
    package var pages = Pages()
    package var sessions = WebConfiguration.Sessions(limits: SessionLimits(lifetime: 0, idleTimeout: 0))
    package var storage = Storage()
    package var secrets = Secrets()
    package var retention = RetentionPolicy()
    package var assertion = Assertion()
    /// Nil: no events are sent.
    package var webhooks: Webhooks?
    package var log = Log()
    /// The outbound proxy: `HTTPS_PROXY` and `NO_PROXY` of the environment.
    package var outboundProxy = ProxySettings.direct
    /// The values it was made from.
    package var snapshot = ConfigurationSnapshot()

    package struct Access: Sendable {
        package var signUp = SignUpPolicy.closed
    }

    package struct Server: Sendable {
        package var listener = SocketAddress(ip: .v4(0), port: 0)
        /// Event loops; 0 means one per core.
        package var threads = 0
        /// Nil: plain HTTP.
        package var tls: TLS?
        /// A plain listener on the same address that only redirects to https; nil for none.
        package var redirectPort: UInt16?
        package var trustedProxies: [IPNetwork] = []
        /// Whether every connection begins with a PROXY header; then there is a trusted proxy.
        package var proxyProtocol = false
        /// Seconds for requests in flight after SIGTERM.
        package var drainTimeout = 0
        package var limits = Limits()
    }

    /// The certificate and key for visitors' connections: read, and known to match.
    package struct TLS: Sendable {
        /// The chain as PEM.
        package var certificate: [UInt8]
        /// The file it was read from; nil when the configuration contains it.
        package var certificateFile: String?
        /// As PEM.
        package var privateKey: Secret
        package var privateKeyFile: String?
    }

    /// `server.limits.*`. Each is inclusive.
    package struct Limits: Sendable {
        package var wire = WireLimits()
        package var timeouts = ServerTimeouts()
        package var web = WebConfiguration.Limits()
        package var connections = 0
        package var connectionsPerAddress = 0
        /// Per second, at Apple.
        package var credentialChecks = 0
    }

    package struct Apple: Sendable {
        package var servicesID = ""
        package var bundleIDs: [String] = []
        package var teamID = ""
        package var keyID = ""
        /// The .p8 as PEM; known to contain a P-256 private key.
        package var privateKeyPEM = Secret("")
        /// The file it was read from; nil when the configuration contains it.
        package var privateKeyFile: String?
        /// The key that takes over, if there is one.
        package var nextKey: NextKey?
        /// A subset of `name` and `email`, in this order.
        package var scopes: [String] = []
        package var issuers: [String] = []
        /// An origin without a trailing slash.
        package var endpoint = ""
        /// May contain `{locale}`.
        package var scriptURL = ""
        package var nativeNonce = NativeNonce.sha256
        package var onAccountDeleted = AccountDeletionPolicy.erase
        /// Whether any of the addresses above is not Apple's; the database is stamped with it.
        package var isSimulated = false
        /// Simulated on a publicURL that is not for tests, as only the flag allows: every page says so.
        package var showsSimulationBanner = false
    }

    /// `apple.nextKeyID` and its key; different from the first.
    package struct NextKey: Sendable {
        package var keyID: String
        /// As for the first key.
        package var privateKeyPEM: Secret
        package var privateKeyFile: String?
    }

    package struct ForwardAuth: Sendable {
        package var style = OriginalRequest.Style.forwarded
        /// Nil admits everybody who is signed in.
        package var rules: AccessRules?
        /// SHA-256 of their text.
        package var digest: Digest256?
    }

    package struct API: Sendable {
        /// Exact origins whose pages may ask who is signed in (CORS).
        package var allowedOrigins: [String] = []
    }

    /// The sources of the pages.
    package struct Pages: Hashable, Sendable {
        /// Nil: every page is built in.
        package var directory: String?
        /// At least one, all with texts; the first is the default.
        package var locales: [String] = []
        /// The directory's files, validated: path below `Public/` → content.
        package var files: [String: [UInt8]] = [:]
    }

    package struct Storage: Sendable {
        /// Without a trailing slash; resolved against the folder of the configuration file.
        package var directory = ""
        /// In seconds: `storage.postgres.trust`.
        package var postgresTrust: Int64 = 1
        /// Nil: the database is SQLite's, in `directory`.
        package var postgres: PostgresOptions?

        /// Whether there is a database, as far as that can be told without opening it.
        package var mayHoldDatabase: Bool { postgres != nil || Store.exists(in: directory) }

        /// What to look at when it fails, as a sentence.
        var advice: String {
            postgres == nil
                ? "Check the disk of storage.directory." : "Check PostgreSQL's log, and the network between."
        }

        /// Of messages.
        package var place: String { postgres == nil ? directory : "storage.postgres.url" }
    }

    package struct Secrets: Sendable {
        package var sealingKey = SealingKeySource.file(path: "")
        /// Keys that only open. Each 32 bytes.
        package var previousSealingKeys: [SecretBytes] = []
    }

    /// The source of the sealing key.
    package enum SealingKeySource: Sendable {
        /// The file may be missing: it is created together with a new database, and only then.
        case file(path: String)
        case inline(SecretBytes)
    }

    package struct Assertion: Hashable, Sendable {
        /// The audiences of assertions; without any, none are made.
        package var audiences: [AssertionAudience] = []
        /// Their algorithms, each once.
        package var algorithms: [SigningAlgorithm] {
            SigningAlgorithm.allCases.filter { algorithm in audiences.contains { $0.algorithm == algorithm } }
        }
    }

    package struct Webhooks: Sendable {
        /// At least one, all addresses different.
        package var endpoints: [Endpoint]
        package var urls: [String] { endpoints.map(\.url) }

        package struct Endpoint: Sendable {
            package var url: String
            package var secrets: WebhookSecretSource
            /// The events that are sent there.
            package var events: Set<JournalEntry.Kind>
        }
    }

    /// The source of the secrets that sign webhooks.
    package enum WebhookSecretSource: Sendable {
        /// Known to be valid; read again when it changes.
        case file(path: String)
        case inline(WebhookSecrets)
    }

    package struct Log: Hashable, Sendable {
        package var level = LogLevel.info
        package var format = LogFormat.json
        /// `log.requests` and `log.clients`.
        package var access = WebConfiguration.AccessLog()
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
