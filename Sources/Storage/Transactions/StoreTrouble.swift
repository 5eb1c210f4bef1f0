package import RelyingParty

/// The database takes no writes: a full or read-only disk, another process's lock, damage. Known from the write that
/// failed last, and over when one shows that there is room again.
package struct StoreTrouble: Hashable, Sendable {
    /// Of the write that failed last.
    package internal(set) var error: StoreError
    /// Writes that have failed since it began.
    package internal(set) var failures: Int
    /// When it began.
    package let since: ContinuousClock.Instant

    package init(error: StoreError, failures: Int = 1, since: ContinuousClock.Instant) {
        self.error = error
        self.failures = failures
        self.since = since
    }

    /// Another process holds the database: any write that succeeds shows that it is over.
    package var isLock: Bool {
        if case .busy = error { true } else { false }
    }

    /// Whether a failure says something of the machine, not of the write alone.
    static func isMeant(by error: StoreError) -> Bool {
        switch error {
        case .unavailable, .busy, .corrupt: true
        case .inconsistent: false
        }
    }
}

extension GroupCommit {
    /// What the probe writes while there is trouble: as much as a sign-in, in bytes. Less may find room in what failed
    /// writes have left on a full disk, and call a server ready at which nobody can sign in.
    static let probeSize = 65_536
}
