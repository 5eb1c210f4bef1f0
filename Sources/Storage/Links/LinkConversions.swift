package import Coding
package import RelyingParty

// Conversions that the application has not answered.
extension Database {
    package func beginConversion(
        _ key: LinkKey, at now: Timestamp, until deadline: Timestamp, onlyIfDue: Bool
    ) async throws(StoreError) -> ConversionStart {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(key)?.link, link.state == .converting else { return .nothing }
            // A mark further ahead than a call can take was set before the clock was set back.
            let changes = try transaction.change(
                """
                UPDATE account_link SET is_asking = 1, next_attempt_at = ?3 WHERE id = ?1 AND state = 'converting'
                AND (is_asking = 0 OR next_attempt_at <= ?2 OR next_attempt_at > ?3)
                AND (?4 = 0 OR next_attempt_at <= ?2)
                """, [key, now, deadline, onlyIfDue])
            guard changes > 0 else { return .nothing }
            switch try transaction.obstacle(to: link) {
            case nil: return .ask(link)
            case .accountChanged?:
                let obstacle = ConversionRule.Obstacle.accountChanged
                try transaction.end(key, as: .failed, failure: obstacle.rawValue)
                return .over(obstacle)
            case let obstacle?:
                let next = Conversions.next(for: link, at: now, counts: onlyIfDue)
                try transaction.postpone(key, until: next.due, failure: obstacle.rawValue, counts: onlyIfDue)
                return .putOff(obstacle, retryAfter: next.retryAfter)
            }
        }
    }

    package func postponeConversion(
        _ key: LinkKey, until next: Timestamp, failure: String, counts: Bool
    ) async throws(StoreError) {
        try await write { transaction in
            try transaction.postpone(key, until: next, failure: failure, counts: counts)
        }
    }

    package func dueConversions(at now: Timestamp, limit: Int) async throws(StoreError) -> [Link] {
        try await read(at: now) { snapshot in
            try snapshot.rows(
                """
                SELECT \(LinkColumns.list) FROM account_link WHERE next_attempt_at <= ? AND state = 'converting'
                ORDER BY next_attempt_at, id LIMIT ?
                """, [now, limit]
            ).map { try StoredLink($0).link }
        }
    }
}

extension Transaction {
    fileprivate func postpone(_ key: LinkKey, until next: Timestamp, failure: String, counts: Bool) throws {
        try run(
            """
            UPDATE account_link SET attempts = attempts + ?, next_attempt_at = ?, failure = ?, is_asking = 0
            WHERE id = ? AND state = 'converting'
            """, [counts ? 1 : 0, next, failure, key])
    }

    /// Why the application must not be asked about a committed link.
    fileprivate func obstacle(to link: Link) throws -> ConversionRule.Obstacle? {
        guard let id = link.user, let person = try user(id) else { return .accountDeleted }
        var hasIdentity = false
        if let team = link.team, let subject = link.subject, let row = try identity(team: team, subject: subject) {
            hasIdentity = try exists("SELECT 1 FROM apple_identity WHERE id = ? AND user = ?", [row, id])
        }
        return ConversionRule.obstacle(to: link, user: person, hasIdentity: hasIdentity)
    }
}

// Links, as the operator lists and retries them.
extension Database {
    /// At most `limit` links, oldest first, after the named one.
    /// - Parameter states: empty means all.
    package func links(
        in states: Set<LinkState>, after place: (createdAt: Timestamp, key: LinkKey)?, limit: Int
    ) async throws(StoreError) -> [Link] {
        try await read { snapshot in
            var wanted = Conditions()
            wanted.add("state", in: states.sorted { $0.rawValue < $1.rawValue })
            if let place { wanted.add("(created_at, id) > (?, ?)", [place.createdAt, place.key]) }
            var arguments = wanted.arguments
            arguments += [limit]
            return try snapshot.rows(
                "SELECT \(LinkColumns.list) FROM account_link \(wanted.clause) ORDER BY created_at, id LIMIT ?",
                arguments
            ).map { try StoredLink($0).link }
        }
    }

    /// Makes a conversion due now, or all that wait, unless the application is being asked already.
    /// - Returns: how many.
    package func retryConversions(_ key: LinkKey?, at now: Timestamp) async throws(StoreError) -> Int {
        try await write(at: now) { transaction in
            let count = try transaction.change(
                """
                UPDATE account_link SET next_attempt_at = min(next_attempt_at, ?1) WHERE state = 'converting'
                AND (is_asking = 0 OR next_attempt_at <= ?1) AND (CAST(?2 AS TEXT) IS NULL OR id = ?2)
                """, [now, key])
            try transaction.audit(.command, object: "links retry")
            return count
        }
    }
}
