import Coding
internal import Logging
internal import Sockets
internal import Storage

/// Logs that the database accepts no writes, and that it does again: at once, then at most once a minute.
struct StoreReport {
    /// Between two lines about one trouble, in milliseconds.
    static let pause: Int64 = 60_000

    private var known: StoreTrouble?
    private var nextLine = Deadline(nanoseconds: .min)
    private let isShared: Bool
    private let logger: Logger

    init(isShared: Bool, logger: Logger) {
        self.isShared = isShared
        self.logger = logger
    }

    /// During trouble it tries a write, so that its end is noticed when nobody else writes.
    mutating func check(_ store: Store, at time: Timestamp, now: Deadline) async {
        check(at: store.trouble, instant: .now, now: now)
        guard store.trouble != nil else { return }
        try? await store.ready(at: time)
        check(at: store.trouble, instant: .now, now: .now)
    }

    mutating func check(at trouble: StoreTrouble?, instant: ContinuousClock.Instant, now: Deadline) {
        defer { known = trouble }
        guard let trouble else {
            guard let known else { return }
            logger.notice(
                "database writes resumed",
                metadata: [
                    "seconds": .stringConvertible((instant - known.since).components.seconds),
                    "failed": .stringConvertible(known.failures),
                ])
            nextLine = Deadline(nanoseconds: .min)
            return
        }
        guard now >= nextLine else { return }
        logger.error(
            // PostgreSQL may be away for readers too.
            isShared
                ? "database write failed: nobody can sign in"
                : "database write failed: nobody can sign in; sessions continue",
            metadata: [
                "cause": "\(trouble.error.text)", "do": "\(Self.advice(for: trouble.error, isShared: isShared))",
                "failed": .stringConvertible(trouble.failures),
            ])
        nextLine = now.adding(milliseconds: Self.pause)
    }

    /// What the operator can do, in the words of the log and of `/readyz`.
    static func advice(for error: StoreError, isShared: Bool) -> String {
        switch error {
        case .unavailable where isShared:
            "check PostgreSQL and the network in between: storage.postgres.url must lead to the primary"
        case .busy where isShared: "find in pg_stat_activity which process holds a lock on store_lock"
        case .corrupt where isShared: "stop all servers, and restore the database with PostgreSQL's tools"
        case .unavailable(let detail) where detail.hasPrefix("13 "):
            "free space on the file system of storage.directory"
        case .unavailable: "check the file system of storage.directory: is it full, read-only or failing?"
        case .busy: "stop the process that holds a lock on bramley.db: fuser shows which processes have it open"
        case .corrupt: "stop the server, keep a copy of storage.directory, and restore a backup"
        case .inconsistent: "report it"
        }
    }
}
