import Accounts
import HTTP
import Sockets
import Web

/// Turns the sources' values into a `Configuration`: first each key by its entry in the table, then whatever depends on
/// several keys or on files. It continues after problems, so that one run finds all.
struct ConfigurationBuilder {
    let values: ConfigurationValues
    let input: ConfigurationInput

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
        configuration.webhooks = webhooks()
        readOutboundProxy(&configuration)
        completeWeb(&configuration)
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
        readAudiences(&configuration)
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

    /// What pages need and other keys say.
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

    /// The proxy that the environment names by the usual convention.
    private func readOutboundProxy(_ configuration: inout Configuration) {
        do throws(ProxySettingsError) {
            configuration.outboundProxy = try ProxySettings(environment: input.environment)
        } catch {
            let words = "\(error)".dropFirst(error.variable.count + 1)
            values.problems.add(
                ConfigurationProblem(
                    key: "", source: error.variable, fault: "\(words).",
                    remedy: "Write http://host:port, or unset it to reach other servers directly."))
        }
    }
}
