import Accounts
import AppleID
import HTTP
import Sockets
import Web

// From the values to the whole, and to the parts that commands need.
extension ConfigurationBuilder {
    /// - Returns: nil when a value is missing or unusable. Contradictions between values are only reported.
    func build() -> Configuration? {
        var configuration = Configuration()
        store(ConfigurationTable.keys, in: &configuration)
        readAppleKeys(&configuration.apple)
        checkApple(&configuration)
        checkServer(configuration)
        readTLS(&configuration)
        completeLogin(&configuration)
        readRules(&configuration)
        readPages(&configuration)
        checkSessions(&configuration)
        readPostgres(&configuration.storage)
        readSealingKeys(&configuration)
        readAudiences(&configuration)
        checkAudiences(configuration)
        checkOperators(configuration.web.operatorGroups)
        configuration.webhooks = webhooks()
        readOutboundProxy(&configuration)
        completeWeb(&configuration)
        return failed.isEmpty ? configuration : nil
    }

    /// By the same rules as the whole; `bramley check` reports other problems.
    func database() -> DatabaseConfiguration? {
        var configuration = Configuration()
        store(ConfigurationTable.keys.filter(DatabaseConfiguration.isRead), in: &configuration)
        checkApple(&configuration)
        checkSessions(&configuration)
        readPostgres(&configuration.storage)
        readSealingKeys(&configuration)
        readAudiences(&configuration)
        guard let kinds = webhookKinds(), failed.isEmpty else { return nil }
        var database = configuration.database
        database.webhookKinds = kinds
        return database
    }

    /// Only the admin listener. Nil: its keys are wrong, or the file cannot be read.
    func admin() -> SocketAddress? {
        var configuration = Configuration()
        store(ConfigurationTable.adminKeys, in: &configuration)
        return failed.isEmpty && isComplete ? configuration.admin : nil
    }

    private func completeWeb(_ configuration: inout Configuration) {
        let apple = configuration.apple
        configuration.web.apple.servicesID = apple.servicesID
        configuration.web.apple.bundleIDs = apple.bundleIDs
        configuration.web.apple.teamID = TeamID(apple.teamID)
        configuration.web.apple.scopes = apple.scopes
        configuration.web.limits.callbackBody = configuration.server.limits.wire.body
        if configuration.web.site.name.isEmpty { configuration.web.site.name = configuration.web.publicURL.host }
    }

    private func store(_ keys: [ConfigurationKey], in configuration: inout Configuration) {
        for key in keys { key.store?(self, &configuration) }
    }

    private func readOutboundProxy(_ configuration: inout Configuration) {
        do throws(ProxySettingsError) {
            configuration.outboundProxy = try ProxySettings(environment: input.environment)
        } catch {
            let words = "\(error)".dropFirst(error.variable.count + 1)
            problems.append(
                ConfigurationProblem(
                    key: "", source: error.variable, fault: "\(words).",
                    remedy: "Write http://host:port, or unset it to reach other servers directly."))
        }
    }
}

// Warns where a valid configuration would not do what its operator expects.
extension ConfigurationBuilder {
    func advise(on configuration: Configuration) {
        adviseOnNotifications(configuration.apple)
        adviseOnProxies(configuration)
    }

    /// Sign-ins work without notifications, so nobody notices until somebody withdraws consent.
    private func adviseOnNotifications(_ apple: AppleSettings) {
        guard apple.bundleIDs.isEmpty else { return }
        warn(
            "apple.bundleIDs",
            "names no app: Apple addresses its notifications to the primary App ID's bundle ID, and they will be refused. "
                + "People who stop using this site at Apple stay signed in.",
            "Add the bundle ID of the primary App ID that \(apple.servicesID) is grouped with, also when there is no app. "
                + "In Apple's portal it is under Identifiers, Services IDs, \(apple.servicesID), Sign in with Apple, "
                + "Configure.")
    }

    /// If visitors use TLS and Bramley does not, there is a proxy, whose address all visitors would share.
    private func adviseOnProxies(_ configuration: Configuration) {
        let server = configuration.server
        guard configuration.web.publicURL.isSecure, server.tls == nil, server.trustedProxies.isEmpty else { return }
        warn(
            "server.trustedProxies",
            "is empty, and there is no certificate in server.certificateFile: a proxy must answer at "
                + "\(configuration.web.publicURL.absolute), and all visitors would share its address and one rate limit.",
            "Name the proxy's own address, such as [\"127.0.0.1\"]; or give Bramley the certificate.")
    }
}
