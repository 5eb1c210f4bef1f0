package import Accounts
import AppleID
package import Storage
import Web

/// The part of the configuration that identifies the database and its owner: all that commands need which use it next
/// to a server. Reads no files except those with sealing keys.
package struct DatabaseConfiguration: Sendable {
    package var storage: Configuration.Storage
    package var secrets: Configuration.Secrets
    package var teamID: String
    /// The Services ID first, then the bundle IDs.
    package var clientIDs: [String]
    package var isSimulated: Bool
    package var onAccountDeleted: AccountDeletionPolicy
    package var sessionLimits: SessionLimits
    package var retention: RetentionPolicy
    /// The audiences of assertions.
    package var audiences: [AssertionAudience]
    /// The events for each address of `webhooks.url`.
    package var webhookKinds: [String: Set<JournalEntry.Kind>]

    /// The options for opening the database.
    package func databaseOptions(for use: StoreOptions.Use) -> DatabaseOptions {
        DatabaseOptions(
            StoreOptions(
                directory: storage.directory, postgres: storage.postgres, origin: isSimulated ? .simulated : .real,
                use: use),
            sessionLimits: sessionLimits, retention: retention, onAccountDeleted: onAccountDeleted)
    }

    /// Whose credentials are checked at Apple.
    package var checkScope: CheckScope {
        CheckScope(team: TeamID(teamID), clients: clientIDs.map { ClientID($0) })
    }
}

extension Configuration {
    package var database: DatabaseConfiguration {
        DatabaseConfiguration(
            storage: storage, secrets: secrets, teamID: apple.teamID, clientIDs: [apple.servicesID] + apple.bundleIDs,
            isSimulated: apple.isSimulated, onAccountDeleted: apple.onAccountDeleted,
            sessionLimits: web.sessions.limits,
            retention: retention, audiences: web.assertionAudiences,
            webhookKinds: Dictionary(
                webhooks.map { ($0.url, $0.events) }, uniquingKeysWith: { first, _ in first }))
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
