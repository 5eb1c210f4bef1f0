package import Coding

/// Where the last good key set outlives a restart.
package protocol KeySetArchive: Sendable {
    /// What was saved last; nil when nothing was, or when it cannot be read.
    func load() async -> ArchivedKeySet?
    /// Keeps this one. A failure is the archive's to log: keys in memory go on working.
    func save(_ keySet: ArchivedKeySet) async
}

/// The bytes of `/auth/keys` as Apple sent them, public by nature, and when.
package struct ArchivedKeySet: Hashable, Sendable {
    package var bytes: [UInt8]
    package var fetchedAt: Timestamp

    package init(bytes: [UInt8], fetchedAt: Timestamp) {
        self.bytes = bytes
        self.fetchedAt = fetchedAt
    }
}
