package import Crypto
package import RelyingParty
package import Storage
import Web

/// The part of the configuration that says which database it is and who it is of: all that commands need which work on
/// it beside a server. No file is read for it but those that hold sealing keys.
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
    /// Of the keys that sign assertions; none when nobody is given any.
    package var assertionAlgorithms: [SigningAlgorithm]
    /// What is sent to each address of `webhooks.url`.
    package var webhookKinds: [String: Set<JournalEntry.Kind>]

    /// How the database is opened.
    package func databaseOptions(for use: DatabaseOptions.Use) -> DatabaseOptions {
        DatabaseOptions(
            directory: storage.directory, origin: isSimulated ? .simulated : .real, sessionLimits: sessionLimits,
            retention: retention, onAccountDeleted: onAccountDeleted, use: use)
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
            isSimulated: apple.isSimulated, onAccountDeleted: apple.onAccountDeleted, sessionLimits: sessions.limits,
            retention: retention, assertionAlgorithms: assertion.algorithms,
            webhookKinds: Dictionary(
                (webhooks?.endpoints ?? []).map { ($0.url, $0.events) }, uniquingKeysWith: { first, _ in first }))
    }
}

extension ConfigurationBuilder {
    /// The rules are those of the whole; what is wrong elsewhere is for `bramley check` to say.
    func database() -> DatabaseConfiguration? {
        let publicURL = publicURL()
        let servicesID = clientID("apple.servicesID")
        let bundleIDs = bundleIDs(servicesID)
        let teamID = teamID()
        let addresses = appleAddresses(publicURL)
        let deletion = values.choice("apple.onAccountDeleted", AccountDeletionPolicy.self)
        let sessions = sessions(publicURL)
        let storage = storage()
        let secrets = secrets(storage)
        let retention = retention()
        let assertion = assertion(nil)
        let kinds = webhookKinds()
        guard let servicesID, let bundleIDs, let teamID, let addresses, let deletion, let sessions, let storage,
            let secrets, let retention, let assertion, let kinds
        else { return nil }
        return DatabaseConfiguration(
            storage: storage, secrets: secrets, teamID: teamID, clientIDs: [servicesID] + bundleIDs,
            isSimulated: addresses.isSimulated, onAccountDeleted: deletion, sessionLimits: sessions.limits,
            retention: retention, assertionAlgorithms: assertion.algorithms, webhookKinds: kinds)
    }

    func storage() -> Configuration.Storage? {
        let key = "storage.directory"
        guard let directory = values.text(key).map({ Self.withoutSlash($0) }) else { return nil }
        // Earlier versions began at the working directory. Whoever relied on that must not be given an empty database.
        if let before = values.fromWorkingDirectory(key).map({ Self.withoutSlash($0) }), before != directory,
            Database.exists(in: before), !Database.exists(in: directory)
        {
            values.fail(
                key,
                "is \(directory.quoted), which holds no database, but \(before.quoted) in the working directory does.",
                "Relative paths begin at the folder of the configuration file: write the whole path of the one you mean."
            )
            return nil
        }
        return Configuration.Storage(directory: directory)
    }
}
