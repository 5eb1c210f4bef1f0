package import RelyingParty
package import Storage

extension Configuration {
    /// How the database of this configuration is opened.
    package func databaseOptions(for use: DatabaseOptions.Use) -> DatabaseOptions {
        database.databaseOptions(for: use)
    }

    /// Whose credentials are checked at Apple.
    package var checkScope: CheckScope { database.checkScope }
}
