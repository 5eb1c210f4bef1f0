internal import Accounts
internal import Storage

/// What PostgreSQL may lose, and whether its clock and this machine's agree.
extension Doctor {
    /// Milliseconds.
    private static let largestClockDifference: Int64 = 1_000

    /// Nothing for SQLite: it is only opened when it loses nothing.
    func store() -> [Diagnosis] {
        guard let database, database.store.isShared else { return [] }
        do {
            let settings = try database.store.settings()
            let clock = Self.clockProblem(database.store.clockDifference).map { problem in
                Diagnosis.wrong(
                    .databaseClock, problem.prefix(1).uppercased() + problem.dropFirst() + ".",
                    next: "Run a time service on both.")
            }
            return [Self.durability(settings), Self.replication(settings), clock].compactMap(\.self)
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "PostgreSQL's settings cannot be read: \(error.text).",
                    next: "Check PostgreSQL's log.")
            ]
        }
    }

    /// Nil when it agrees with the database's to a second.
    /// - Parameter difference: how far the database's is ahead, in milliseconds.
    static func clockProblem(_ difference: Int64) -> String? {
        let size = abs(difference)
        guard size >= largestClockDifference else { return nil }
        let direction = difference < 0 ? "ahead of" : "behind"
        return "this machine's clock is \(size / 1_000).\(size % 1_000 / 100) s \(direction) the database's"
    }

    static func durability(_ settings: [String: String]) -> Diagnosis? {
        let off = ["fsync", "full_page_writes", "synchronous_commit"].filter { settings[$0] == "off" }
        guard !off.isEmpty else { return nil }
        return .wrong(
            .databaseNotDurable,
            "PostgreSQL confirms writes that a crash may undo: \(off.joined(separator: ", ")) "
                + "\(off.count == 1 ? "is" : "are") off.",
            next: "In postgresql.conf, set \(off.map { "\($0) = on" }.joined(separator: ", ")).")
    }

    static func replication(_ settings: [String: String]) -> Diagnosis? {
        guard let standbys = settings["standbys"].flatMap({ Int($0) }), standbys > 0 else { return nil }
        let waits =
            settings["synchronous_standby_names"]?.isEmpty == false && settings["synchronous_commit"] != "local"
        guard !waits else { return .good(.database, "PostgreSQL confirms only what a standby has too.") }
        return .unsure(
            .replicationAsynchronous,
            "PostgreSQL replicates asynchronously: when a standby takes over, the last writes may be lost. Then people "
                + "who have just signed in must do so again, and sessions that have just ended are accepted again.",
            next: "If that matters, set synchronous_standby_names (and not synchronous_commit = local).")
    }
}
