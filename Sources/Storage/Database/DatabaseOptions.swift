package import RelyingParty

/// Whose sign-ins a database holds. Stamped when it is made; never changes.
package enum DatabaseOrigin: String, Sendable, CaseIterable {
    case real, simulated
}

/// How to open the database.
package struct DatabaseOptions: Sendable {
    /// `storage.directory`: holds `bramley.db` and its companions. Made when only its parent exists.
    package var directory: String
    package var origin: DatabaseOrigin
    package var sessionLimits: SessionLimits
    package var retention: RetentionPolicy
    package var onAccountDeleted: AccountDeletionPolicy
    /// How long a write waits for another process's lock, in milliseconds, before it is `.busy`.
    package var busyTimeout: Int
    /// The most writes that share one transaction.
    package var maximumBatch: Int
    package var use: Use
    /// Who runs the command, as the operating system knows them: for the audit log.
    package var account: String?

    /// Who opens it.
    package enum Use: Hashable, Sendable {
        /// Makes the database and brings its schema up to date; moves the log into the database when it closes.
        case server
        /// As `server`, beside the one whose place it takes: changes no schema, which that one still works with.
        case successor
        /// Beside a server, or without one: makes nothing, changes no schema and leaves the log to the server.
        case command
    }

    package init(
        directory: String, origin: DatabaseOrigin, sessionLimits: SessionLimits,
        retention: RetentionPolicy = RetentionPolicy(), onAccountDeleted: AccountDeletionPolicy,
        busyTimeout: Int = 5_000, maximumBatch: Int = 128, use: Use = .server
    ) {
        self.directory = directory
        self.origin = origin
        self.sessionLimits = sessionLimits
        self.retention = retention
        self.onAccountDeleted = onAccountDeleted
        self.busyTimeout = busyTimeout
        self.maximumBatch = maximumBatch
        self.use = use
    }
}
