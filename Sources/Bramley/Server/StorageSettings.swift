package import RelyingParty
package import Storage

extension Configuration {
    /// How the database of this configuration is opened.
    package func databaseOptions(for use: DatabaseOptions.Use) -> DatabaseOptions {
        DatabaseOptions(
            directory: storage.directory, origin: apple.isSimulated ? .simulated : .real,
            sessionLimits: sessions.limits, retention: RetentionPolicy(audit: Int64(auditRetention)),
            onAccountDeleted: apple.onAccountDeleted == .erase ? .erase : .disable,
            use: use)
    }

    /// Whose credentials are checked at Apple.
    package var checkScope: CheckScope {
        CheckScope(team: TeamID(apple.teamID), clients: ([apple.servicesID] + apple.bundleIDs).map { ClientID($0) })
    }
}
