package import Coding
import Storage

/// An event that waits for an endpoint, or is a dead letter there.
package typealias WaitingDelivery = (event: EventID, url: String, isDead: Bool)

/// The number of sign-ins in one hour with one outcome.
package struct SignInCount: Hashable, Sendable {
    /// The beginning of the hour.
    package var hour: Timestamp
    /// As in the metric `bramley_sign_ins_total`.
    package var outcome: String
    package var reason: String
    package var number: Int

    package init(hour: Timestamp, outcome: String, reason: String, number: Int) {
        self.hour = hour
        self.outcome = outcome
        self.reason = reason
        self.number = number
    }

    /// How long they are kept, in seconds.
    package static let retention: Int64 = 8 * 86_400
}

extension Timestamp {
    package var hour: Timestamp { Timestamp(milliseconds: milliseconds - milliseconds % 3_600_000) }
}

package struct RunningServer: Hashable, Sendable {
    /// Random, one for each process.
    package var id: String
    package var host: String
    package var version: String
    package var startedAt: Timestamp
    package var seenAt: Timestamp

    package init(id: String, host: String, version: String, startedAt: Timestamp, seenAt: Timestamp) {
        self.id = id
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.seenAt = seenAt
    }
}

extension User {
    /// Whether this person may open the operator's page; `groups` are `operator.groups`.
    package func isOperator(_ groups: [String]) -> Bool {
        state == .active && self.groups.contains { own in groups.contains { $0.isExactly(own) } }
    }
}

extension Database {
    /// The newest `limit` events about a person that applications have not received.
    package func deliveries(of user: UserID, limit: Int) async throws(Failure) -> [WaitingDelivery] {
        try await read { snapshot in
            try snapshot.rows(
                """
                SELECT e.sequence, e.salt, w.url, d.dead_at IS NOT NULL AS is_dead FROM webhook_delivery d
                JOIN event e ON e.sequence = d.sequence JOIN webhook_endpoint w ON w.id = d.endpoint
                WHERE e.user = ? ORDER BY e.sequence DESC LIMIT ?
                """, [user, limit]
            ).map { row in
                (
                    event: EventID(sequence: try row["sequence"], salt: try row["salt"]), url: try row["url"],
                    isDead: try row["is_dead"]
                )
            }
        }
    }

    /// How many people are in each state; large numbers may be some seconds old.
    package func userCounts() async throws(Failure) -> [User.State: Int] {
        var counts: [User.State: Int] = [:]
        for (state, numbers) in userNumbers {
            let number = try await numbers.current { () throws(Failure) in
                try await self.readCounting { snapshot in
                    try snapshot.count("SELECT count(*) FROM user WHERE state = ?", [state])
                }
            }
            if number > 0 { counts[state] = number }
        }
        return counts
    }

    /// How many people are signed in, including those whose session has just expired; large numbers may be some seconds
    /// old.
    package func signedInCount() async throws(Failure) -> Int {
        try await signedInNumber.current { () throws(Failure) in
            try await self.readCounting { snapshot in
                // Of an index alone: sessions themselves are scattered.
                try snapshot.count("SELECT count(*) FROM (SELECT DISTINCT user FROM session) AS people")
            }
        }
    }

    package func addSignIns(_ counts: [SignInCount], at now: Timestamp) async throws(Failure) {
        try await write(at: now) { transaction in
            for count in counts {
                try transaction.run(
                    """
                    INSERT INTO sign_in_hour (hour, outcome, reason, number) VALUES (?, ?, ?, ?)
                    ON CONFLICT (hour, outcome, reason) DO UPDATE SET number = sign_in_hour.number + excluded.number
                    """, [count.hour, count.outcome, count.reason, count.number])
            }
            try transaction.run(
                "DELETE FROM sign_in_hour WHERE hour < ?", [now.adding(seconds: -SignInCount.retention)])
        }
    }

    /// By hour since `time`, oldest first.
    package func signIns(since time: Timestamp) async throws(Failure) -> [SignInCount] {
        try await read { snapshot in
            try snapshot.rows(
                "SELECT hour, outcome, reason, number FROM sign_in_hour WHERE hour >= ? ORDER BY hour, outcome, reason",
                [time]
            ).map { row in
                SignInCount(
                    hour: try row["hour"], outcome: try row["outcome"], reason: try row["reason"],
                    number: try row["number"])
            }
        }
    }

    /// How large the database is, and when `bramley backup` last made a copy of it; never on PostgreSQL.
    package func facts() async throws(Failure) -> (bytes: Int, lastBackup: Timestamp?) {
        try await Failure.ofStore((try await store.size(), try await store.lastBackup()))
    }

    /// Records that this server runs, and deletes those not seen for a day.
    package func reportServer(_ server: RunningServer) async throws(Failure) {
        try await write(at: server.seenAt) { transaction in
            try transaction.run(
                """
                INSERT INTO server (id, host, version, started_at, seen_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
                """, [server.id, server.host, server.version, server.startedAt, server.seenAt])
            try transaction.run("DELETE FROM server WHERE seen_at < ?", [server.seenAt.adding(seconds: -86_400)])
        }
    }

    /// Records that this server has stopped.
    package func forgetServer(_ id: String, at now: Timestamp) async throws(Failure) {
        try await write(at: now) { try $0.run("DELETE FROM server WHERE id = ?", [id]) }
    }

    /// - Parameter seen: omits servers not seen since.
    package func servers(seen: Timestamp) async throws(Failure) -> [RunningServer] {
        try await read { snapshot in
            try snapshot.rows(
                "SELECT id, host, version, started_at, seen_at FROM server WHERE seen_at >= ? ORDER BY host, started_at",
                [seen]
            ).map { row in
                RunningServer(
                    id: try row["id"], host: try row["host"], version: try row["version"],
                    startedAt: try row["started_at"], seenAt: try row["seen_at"])
            }
        }
    }
}

extension Snapshot {
    /// Whether this person, and nobody else, can open the operator's page.
    func isLastOperator(_ user: User, of groups: [String]) throws -> Bool {
        guard user.isOperator(groups) else { return false }
        var wanted = Conditions()
        wanted.add("x.name", in: groups)
        wanted.add("u.state = 'active' AND u.id <> ?", [user.id])
        // An older version may have changed the groups without the index.
        return try !exists(
            """
            SELECT 1 FROM user_group x CROSS JOIN user u ON u.id = x.user \(wanted.clause)
            AND EXISTS (SELECT 1 FROM json_each(u.groups) g WHERE g.value = x.name) LIMIT 1
            """, wanted.arguments)
    }
}
