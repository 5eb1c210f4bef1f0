import Accounts
import Coding
import HTTP
import Sockets
import Web

/// Turns the sources' values into a `Configuration`: first each key by its entry in the table, then whatever depends on
/// several keys or on files. It continues after problems, so that one run finds all.
struct ConfigurationBuilder {
    let values: ConfigurationValues
    let allowsSimulatedApple: Bool
    /// Determines the validity of certificates.
    let now: Timestamp
    /// The complete environment.
    let environment: [String: String]

    /// - Returns: nil when a value is missing or unusable. Contradictions between values are only reported.
    func build() -> Configuration? {
        var configuration = Configuration()
        store(ConfigurationTable.keys, in: &configuration)
        if configuration.site.name.isEmpty { configuration.site.name = configuration.publicURL.host }
        configuration.server.limits.web.callbackBody = configuration.server.limits.wire.body
        readAppleKeys(&configuration.apple)
        checkApple(&configuration)
        checkServer(configuration)
        readTLS(&configuration)
        completeLogin(&configuration)
        readRules(&configuration)
        readPages(&configuration.pages)
        checkSessions(&configuration)
        readPostgres(&configuration.storage)
        readSealingKeys(&configuration)
        readAudiences(&configuration.assertion)
        checkAudiences(configuration)
        configuration.webhooks = webhooks()
        readOutboundProxy(&configuration)
        return values.failed.isEmpty ? configuration : nil
    }

    /// By the same rules as the whole; `bramley check` reports other problems.
    func database() -> DatabaseConfiguration? {
        var configuration = Configuration()
        store(ConfigurationTable.keys.filter(DatabaseConfiguration.isRead), in: &configuration)
        checkApple(&configuration)
        checkSessions(&configuration)
        readPostgres(&configuration.storage)
        readSealingKeys(&configuration)
        readAudiences(&configuration.assertion)
        guard let kinds = webhookKinds(), values.failed.isEmpty else { return nil }
        var database = configuration.database
        database.webhookKinds = kinds
        return database
    }

    /// The admin listener alone. Nil: its keys are wrong, or the file that may hold them cannot be read.
    func admin() -> SocketAddress? {
        var configuration = Configuration()
        store(ConfigurationTable.adminKeys, in: &configuration)
        return values.failed.isEmpty && values.isComplete ? configuration.admin : nil
    }

    private func store(_ keys: [ConfigurationKey], in configuration: inout Configuration) {
        for key in keys { key.store?(self, &configuration) }
    }

    /// The proxy that the environment names by the usual convention.
    private func readOutboundProxy(_ configuration: inout Configuration) {
        do throws(ProxySettingsError) {
            configuration.outboundProxy = try ProxySettings(environment: environment)
        } catch {
            let words = "\(error)".dropFirst(error.variable.count + 1)
            values.problems.add(
                ConfigurationProblem(
                    key: "", source: error.variable, fault: "\(words).",
                    remedy: "Write http://host:port, or unset it to reach other servers directly."))
        }
    }

    // MARK: Listening

    private func checkServer(_ configuration: Configuration) {
        let server = configuration.server
        if let port = server.redirectPort {
            if values.areGood("publicURL"), !configuration.publicURL.isSecure {
                values.report(
                    "server.redirectPort", "redirects to https, and publicURL begins with http://.",
                    "Begin publicURL with https://, or remove the port.")
            } else if values.areGood("server.port"), server.listener.port == port {
                values.report(
                    "server.redirectPort", "is \(port), as server.port is.", "Write another port, such as 80.")
            }
        }
        if server.proxyProtocol, server.trustedProxies.isEmpty, values.areGood("server.trustedProxies") {
            values.report(
                "server.proxyProtocol",
                "is true, but no proxy is trusted to say who its clients are, so every connection would be closed.",
                "Name the proxy that sends the PROXY protocol in server.trustedProxies.")
        }
        checkPorts(server, configuration.admin)
    }

    /// Two listeners cannot share an address and port.
    private func checkPorts(_ server: Configuration.Server, _ admin: SocketAddress) {
        guard
            values.areGood("server.host", "server.port", "server.redirectPort", "admin.host", "admin.port")
        else { return }
        let name: String
        switch admin.port {
        case server.listener.port: name = "server.port"
        case server.redirectPort: name = "server.redirectPort"
        default: return
        }
        let everywhere: Set<IPAddress> = [.v4(0), .v6(0, 0)]
        let (host, other) = (server.listener.ip, admin.ip)
        guard host == other || everywhere.contains(host) || everywhere.contains(other) else { return }
        values.report("admin.port", "is \(admin.port), as \(name) is.", "Write another port.")
    }

    // MARK: Twins and files

    /// The text of a key or of its twin.
    struct GivenText {
        /// The key that was given.
        var key: String
        /// Nil when the configuration contains it.
        var path: String?
        var bytes: [UInt8]

        var text: String { String(decoding: bytes, as: UTF8.self) }
        /// The beginning of a sentence about it.
        var subject: String { path.map { "\($0.quoted) " } ?? "" }
    }

    /// Nil when nothing is given (`isMissing`), and after a problem.
    /// - Parameter read: returns the file's bytes.
    func given(_ fileKey: String, _ read: (_ key: String, _ path: String) -> [UInt8]?) -> GivenText? {
        guard let twin = ConfigurationTable.byName[fileKey]?.twin.flatMap({ ConfigurationTable.byName[$0] }) else {
            return nil
        }
        let path = values.text(fileKey)
        let inline = values.text(twin.name)
        guard !refuseTwins(fileKey, twin.name) else { return nil }
        if let path { return read(fileKey, path).map { GivenText(key: fileKey, path: path, bytes: $0) } }
        return inline.map { text in
            // Environments cannot always contain line ends: \n represents one.
            let text = twin.isSecret || twin.holdsLines ? text.replacing("\\n", with: "\n") : text
            return GivenText(key: twin.name, path: nil, bytes: Array(text.utf8))
        }
    }

    /// Whether neither a key nor its twin was given, not even with a refused value.
    func isMissing(_ fileKey: String) -> Bool {
        ![fileKey, fileKey.replacing("File", with: "")].contains { values.isGiven($0) || values.isRefused($0) }
    }

    /// Whether a key and its twin are both given, which is an error.
    func refuseTwins(_ first: String, _ second: String) -> Bool {
        guard values.isGiven(first), values.isGiven(second) else { return false }
        values.fail(first, "is given together with \(second).", "Remove one of the two.")
        return true
    }

    /// The text of a file with a secret, or nil and a problem. Checks its mode as well.
    func readSecret(_ key: String, _ path: String) -> [UInt8]? {
        readFile(key, path, maximumBytes: AppleKeyFile.maximumBytes) { _ in true }
    }

    /// Nobody else may change the file, nor read one with a secret.
    func readFile(
        _ key: String, _ path: String, maximumBytes: Int, holdsSecret: (GuardedFile) -> Bool
    ) -> [UInt8]? {
        do throws(GuardedFile.Failure) {
            let file = try GuardedFile.read(path, maximumBytes: maximumBytes)
            if holdsSecret(file) {
                for problem in FileModeRule.problems(
                    of: file, at: path, key: key, source: values.source(of: key), holdsSecret: true)
                {
                    values.problems.add(problem)
                }
            } else if file.isWritableByOthers {
                values.fail(key, "\(path.quoted) can be changed by other users.", "Run: chmod go-w \(path)")
                return nil
            }
            return file.bytes
        } catch {
            values.fail(key, "\(path.quoted) \(error.fault)", error.remedy(for: path))
            return nil
        }
    }
}
