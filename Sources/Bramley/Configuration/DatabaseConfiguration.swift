package import Accounts
import AppleID
package import Storage
import Web

/// What commands need that use the database next to a server. Reads no files except those with sealing keys.
package struct DatabaseConfiguration: Sendable {
    package var storage: Configuration.Storage
    package var secrets: Configuration.Secrets
    /// Our team, and our clients: the Services ID first, then the bundle IDs.
    package var checkScope: CheckScope
    package var options: DatabaseOptions
    package var audiences: [AssertionAudience]
    /// Whether publicURL is on this machine, as in a rehearsal.
    package var isLocal: Bool
    /// The events for each address of `webhooks.url`.
    package var webhookKinds: [String: Set<JournalEntry.Kind>]

    package func databaseOptions(for use: StoreOptions.Use) -> DatabaseOptions {
        var options = options
        options.store.use = use
        return options
    }
}

extension Configuration {
    package var database: DatabaseConfiguration {
        let store = StoreOptions(
            directory: storage.directory, postgres: storage.postgres,
            origin: apple.isSimulated ? .simulated : .real)
        return DatabaseConfiguration(
            storage: storage, secrets: secrets,
            checkScope: CheckScope(
                team: TeamID(apple.teamID), clients: ([apple.servicesID] + apple.bundleIDs).map { ClientID($0) }),
            options: DatabaseOptions(
                store, sessionLimits: web.sessionLimits, retention: retention,
                onAccountDeleted: apple.onAccountDeleted),
            audiences: web.assertionAudiences, isLocal: WebAddress.isLocal(web.publicURL.host),
            webhookKinds: Dictionary(webhooks.map { ($0.url, $0.events) }, uniquingKeysWith: { first, _ in first }))
    }
}

extension DatabaseConfiguration {
    private static let groups: Set<String> = ["publicURL", "sessions", "storage", "secrets", "retention", "assertion"]
    private static let names: Set<String> = [
        "apple.servicesID", "apple.bundleIDs", "apple.teamID", "apple.issuers", "apple.endpoint", "apple.scriptURL",
        "apple.onAccountDeleted",
    ]

    /// Whether commands need this key, besides those that steps read.
    static func isRead(_ key: ConfigurationKey) -> Bool {
        groups.contains(key.components[0]) || names.contains(key.name)
    }
}
