import Accounts
internal import AppleID
internal import Logging
internal import Storage

/// Stores Apple's last good key set in the database, so that it survives a restart.
struct KeySetStore: KeySetArchive {
    let database: Database
    let logger: Logger

    func load() async -> ArchivedKeySet? {
        do {
            guard let stored = try await database.loadKeySet() else { return nil }
            return ArchivedKeySet(bytes: stored.document, fetchedAt: stored.fetchedAt)
        } catch {
            logger.warning("Apple's stored keys not readable", metadata: ["cause": "\(error)"])
            return nil
        }
    }

    func save(_ keys: ArchivedKeySet) async {
        do {
            try await database.saveKeySet(StoredKeySet(document: keys.bytes, fetchedAt: keys.fetchedAt))
        } catch {
            logger.warning("Apple's keys not stored", metadata: ["cause": "\(error)"])
        }
    }
}
