/// Whose sign-ins a database holds. Stamped at creation; never changes.
package enum DatabaseOrigin: String, Sendable, CaseIterable {
    case real, simulated
}

package struct StoreOptions: Sendable {
    /// `storage.directory`: contains `bramley.db` and its companions. Created when only its parent exists.
    package var directory: String
    /// Where the database is instead; nil for SQLite in `directory`.
    package var postgres: PostgresOptions?
    package var origin: DatabaseOrigin
    /// How long a write waits for another process's lock, in milliseconds, before it is `.busy`.
    package var busyTimeout: Int
    package var maximumBatch: Int
    package var use: Use
    /// How long an optional write may wait.
    package var optionalWritePatience = Duration.milliseconds(400)
    /// For `bramley move`: also opens a database that was moved, or partly.
    package var admitsMoved = false

    package enum Use: Hashable, Sendable {
        /// Creates the database and updates its schema; moves the log into the database when it closes.
        case server
        /// Like `server`, but next to the server it replaces: does not change the schema, which that one still uses.
        case successor
        /// Next to a server, or without one: creates nothing, changes no schema, and leaves the log to the server.
        case command
    }

    /// How long a page of a list may take; no limit for commands, which their user can interrupt.
    var readPatience: Duration? { use == .command ? nil : .seconds(5) }

    package init(
        directory: String, postgres: PostgresOptions? = nil, origin: DatabaseOrigin, busyTimeout: Int = 5_000,
        maximumBatch: Int = 128, use: Use = .server
    ) {
        self.directory = directory
        self.postgres = postgres
        self.origin = origin
        self.busyTimeout = busyTimeout
        self.maximumBatch = maximumBatch
        self.use = use
    }
}
