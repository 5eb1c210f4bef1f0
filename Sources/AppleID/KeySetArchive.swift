package import Coding

/// Stores the last good key set across restarts.
package protocol KeySetArchive: Sendable {
    /// The last saved set; nil when there is none, or it cannot be read.
    func load() async -> ArchivedKeySet?
    /// Saves this set. The archive logs failures: keys in memory continue to work.
    func save(_ keySet: ArchivedKeySet) async
}

/// The bytes of `/auth/keys` as Apple sent them, which are public, and when.
package struct ArchivedKeySet: Hashable, Sendable {
    package var bytes: [UInt8]
    package var fetchedAt: Timestamp

    package init(bytes: [UInt8], fetchedAt: Timestamp) {
        self.bytes = bytes
        self.fetchedAt = fetchedAt
    }
}
