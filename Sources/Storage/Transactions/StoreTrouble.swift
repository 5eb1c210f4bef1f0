/// The database accepts no writes: a full or read-only disk, another process's lock, or damage. Known from the last
/// failed write, and over when a write shows that there is room again.
package struct StoreTrouble: Hashable, Sendable {
    /// Of the last failed write.
    package internal(set) var error: StoreError
    /// Failed writes since it began.
    package internal(set) var failures: Int
    /// When it began.
    package let since: ContinuousClock.Instant

    package init(error: StoreError, failures: Int = 1, since: ContinuousClock.Instant) {
        self.error = error
        self.failures = failures
        self.since = since
    }

    /// Another process holds the lock: any successful write shows that it is over.
    package var isLock: Bool {
        if case .busy = error { true } else { false }
    }

    /// Whether a failure concerns the machine, not only the write.
    static func isMeant(by error: StoreError) -> Bool {
        switch error {
        case .unavailable, .busy, .corrupt: true
        case .inconsistent: false
        }
    }
}

extension GroupCommit {
    /// Bytes that the probe writes during trouble: as many as a sign-in. Fewer might fit into what failed writes have
    /// left on a full disk, and declare a server ready at which nobody can sign in.
    static let probeSize = 65_536
}
