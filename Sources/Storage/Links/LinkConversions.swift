package import Coding
package import RelyingParty

// The conversions the application has not answered.
extension Database {
    package func beginConversion(
        _ key: LinkKey, at now: Timestamp, until deadline: Timestamp, onlyIfDue: Bool
    ) async throws(StoreError) -> ConversionStart {
        try await commits.write { connection, _ in
            guard let link = try connection.storedLink(key)?.link, link.state == .converting else { return .nothing }
            // A mark from further ahead than a call can take is one of before the clock was set back.
            try connection.run(
                """
                UPDATE account_link SET is_asking = 1, next_attempt_at = ?3 WHERE id = ?1 AND state = 'converting'
                AND (is_asking = 0 OR next_attempt_at <= ?2 OR next_attempt_at > ?3)
                AND (?4 = 0 OR next_attempt_at <= ?2)
                """, [key.rawValue, now.milliseconds, deadline.milliseconds, onlyIfDue])
            guard connection.changesCount > 0 else { return .nothing }
            switch try connection.obstacle(to: link) {
            case nil: return .ask(link)
            case .accountChanged?:
                let obstacle = ConversionRule.Obstacle.accountChanged
                try connection.end(key, as: .failed, failure: obstacle.rawValue, at: now)
                return .over(obstacle)
            case let obstacle?:
                let next = Conversions.next(for: link, at: now, counts: onlyIfDue)
                try connection.postpone(key, until: next.due, failure: obstacle.rawValue, counts: onlyIfDue)
                return .putOff(obstacle, retryAfter: next.retryAfter)
            }
        }
    }

    package func postponeConversion(
        _ key: LinkKey, until next: Timestamp, failure: String, counts: Bool
    ) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.postpone(key, until: next, failure: failure, counts: counts)
        }
    }

    package func dueConversions(at now: Timestamp, limit: Int) async throws(StoreError) -> [Link] {
        try await read { connection in
            try connection.rows(
                """
                SELECT \(LinkColumns.list) FROM account_link l WHERE l.next_attempt_at <= ? AND l.state = 'converting'
                ORDER BY l.next_attempt_at, l.id LIMIT ?
                """, [now.milliseconds, limit]
            ).map { try StoredLink(row: $0).link }
        }
    }
}

extension SQLiteConnection {
    fileprivate func postpone(_ key: LinkKey, until next: Timestamp, failure: String, counts: Bool) throws {
        try run(
            """
            UPDATE account_link SET attempts = attempts + ?, next_attempt_at = ?, failure = ?, is_asking = 0
            WHERE id = ? AND state = 'converting'
            """, [counts ? 1 : 0, next.milliseconds, failure, key.rawValue])
    }

    /// Why the application must not be asked about a committed link.
    fileprivate func obstacle(to link: Link) throws -> ConversionRule.Obstacle? {
        guard let id = link.user, let person = try user(id) else { return .accountDeleted }
        var hasIdentity = false
        if let team = link.team, let subject = link.subject, let row = try identity(team: team, subject: subject) {
            let found = try integer("SELECT 1 FROM apple_identity WHERE id = ? AND user = ?", [row, id.rawValue])
            hasIdentity = found != nil
        }
        return ConversionRule.obstacle(to: link, user: person, hasIdentity: hasIdentity)
    }
}

// Links as the operator sees and hurries them.
extension Database {
    /// At most `limit` links, in the order they were begun, after the one named.
    /// - Parameter states: empty means all.
    package func links(
        in states: Set<LinkState>, after place: (createdAt: Timestamp, key: LinkKey)?, limit: Int
    ) async throws(StoreError) -> [Link] {
        try await read { connection in
            let wanted = (states.isEmpty ? Set(LinkState.allCases) : states).map(\.rawValue).sorted()
            var arguments = StatementArguments(wanted)
            arguments += [place?.createdAt.milliseconds ?? Int64.min, place?.key.rawValue ?? "", limit]
            return try connection.rows(
                """
                SELECT \(LinkColumns.list) FROM account_link l
                WHERE l.state IN (\(wanted.map { _ in "?" }.joined(separator: ", ")))
                AND (l.created_at, l.id) > (?, ?) ORDER BY l.created_at, l.id LIMIT ?
                """, arguments
            ).map { try StoredLink(row: $0).link }
        }
    }

    /// Makes a conversion due now, or all that wait, unless the application is being asked already.
    /// - Returns: how many.
    package func retryConversions(_ key: LinkKey?, at now: Timestamp) async throws(StoreError) -> Int {
        try await commits.write { connection, _ in
            try connection.run(
                """
                UPDATE account_link SET next_attempt_at = min(next_attempt_at, ?1) WHERE state = 'converting'
                AND (is_asking = 0 OR next_attempt_at <= ?1) AND (?2 IS NULL OR id = ?2)
                """, [now.milliseconds, key?.rawValue])
            let count = connection.changesCount
            try connection.audit(.command, object: "links retry", at: now)
            return count
        }
    }
}
