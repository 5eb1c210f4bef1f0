package import Storage

/// Which database to open, and the periods and limits that its writes apply.
package struct DatabaseOptions: Sendable {
    package var store: StoreOptions
    package var sessionLimits: SessionLimits
    package var retention: RetentionPolicy
    package var onAccountDeleted: AccountDeletionPolicy
    /// The operating system user who runs the command: for the audit log.
    package var account: String?

    package init(
        _ store: StoreOptions, sessionLimits: SessionLimits, retention: RetentionPolicy = RetentionPolicy(),
        onAccountDeleted: AccountDeletionPolicy
    ) {
        self.store = store
        self.sessionLimits = sessionLimits
        self.retention = retention
        self.onAccountDeleted = onAccountDeleted
    }
}
