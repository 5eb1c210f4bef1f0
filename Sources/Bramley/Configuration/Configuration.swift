package import Accounts
package import AppleID
package import Crypto
package import HTTP
package import Logging
package import Sockets
package import Storage
package import Web

/// Validated values, in the types of the modules that use them; made by `ConfigurationLoader` only, by the keys of
/// `ConfigurationTable`. A property's initial value is its key's default, unless the key is required.
package struct Configuration: Sendable {
    /// `publicURL`, and everything about pages, routes and sessions.
    package var web = WebConfiguration()
    package var server = Server()
    package var admin = SocketAddress(ip: .v4(0x7F00_0001), port: 9090)
    package var apple = AppleSettings()
    /// SHA-256 of the text of `forwardAuth.rulesFile`; nil without it.
    package var rulesDigest: Digest256?
    package var pagesDirectory: String?
    package var storage = Storage()
    package var secrets = Secrets()
    package var retention = RetentionPolicy()
    /// All addresses different. Empty: no events are sent.
    package var webhooks: [Webhook] = []
    /// `openid.clientDocuments`
    package var clientDocuments: [String] = []
    package var logLevel = Logger.Level.info
    package var logFormat = LogFormat.json
    /// The outbound proxy: `HTTPS_PROXY` and `NO_PROXY` of the environment.
    package var outboundProxy = ProxySettings.direct
    /// The digest of each key's value, given or default, to tell which have changed: no secret is kept a second time.
    package var digests: [String: Digest256] = [:]
    /// Each key that has a value, as an operator may see it.
    package var settings: [OperatorSetting] = []

    package struct Server: Sendable {
        package var listener = SocketAddress(ip: .v4(0x7F00_0001), port: 8080)
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
        package var drainTimeout = 25
        package var limits = Limits()
    }

    /// The certificate and key for visitors' connections: read, and known to match.
    package struct TLS: Sendable {
        package var certificate: [UInt8]
        /// The file it was read from; nil when the configuration contains it.
        package var certificateFile: String?
        package var privateKey: Secret
        package var privateKeyFile: String?
    }

    /// `server.limits.*`, besides those of `web`. Each is inclusive.
    package struct Limits: Sendable {
        /// Apple's callback carries a person's name, which can be long.
        package var wire = WireLimits { $0.body = 524_288 }
        package var timeouts = ServerTimeouts()
        package var connections = 10_000
        package var connectionsPerAddress = 256
        /// Per second, at Apple.
        package var credentialChecks = CredentialChecks.standardRate
    }

    package struct Storage: Sendable {
        /// Without a trailing slash; resolved against the folder of the configuration file.
        package var directory = "data"
        /// `storage.postgres.trust`: how long sessions are answered from memory without it, in milliseconds.
        package var postgresTrust = PostgresOptions.standardTrust
        /// Nil: the database is SQLite's, in `directory`.
        package var postgres: PostgresOptions?

        /// Whether there is a database, as far as that can be told without opening it.
        package var mayHoldDatabase: Bool { postgres != nil || Store.exists(in: directory) }

        var advice: String {
            postgres == nil
                ? "Check the disk of storage.directory." : "Check PostgreSQL's log, and the network between."
        }

        package var place: String { postgres == nil ? directory : "storage.postgres.url" }
    }

    package struct Secrets: Sendable {
        /// A file may be missing: it is created together with a new database, and only then.
        package var sealingKey = SecretSource<SecretBytes>.file(path: "")
        /// Keys that only open. Each 32 bytes.
        package var previousSealingKeys: [SecretBytes] = []
    }

    package enum SecretSource<Value: Sendable>: Sendable {
        case file(path: String)
        case inline(Value)
    }

    package struct Webhook: Sendable {
        package var url: String
        /// A file is known to be valid, and read again when it changes.
        package var secrets: SecretSource<WebhookSecrets>
        package var events: Set<JournalEntry.Kind>
    }
}

extension [AssertionAudience] {
    package var algorithms: [SigningAlgorithm] {
        SigningAlgorithm.allCases.filter { algorithm in contains { $0.algorithm == algorithm } }
    }
}

package enum LogFormat: String, Sendable, CaseIterable {
    case json, text
}
