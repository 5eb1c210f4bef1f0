import Coding
package import RelyingParty

// The journal is written in the transaction of what it tells.
extension SQLiteConnection {
    /// Call it before the user's row is deleted: the entry takes the external ID from there.
    func record(
        _ kind: JournalEntry.Kind, user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], into: UserID? = nil, at now: Timestamp, identifiers: RandomIdentifier
    ) throws {
        let id: EventID = identifiers.make(at: now)
        try run(
            """
            INSERT INTO event (id, type, time, user, session, cause, fields, into_user, external_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT external_id FROM user WHERE id = ?4))
            """,
            [
                id.rawValue, kind.rawValue, now.milliseconds, user.rawValue, session?.rawValue, cause?.rawValue,
                StringList.encode(fields), into?.rawValue,
            ])
        try audit(kind, user: user, cause: cause, fields: fields, at: now)
    }
}

extension JournalEntry {
    static let columns = "e.id, e.type, e.time, e.user, e.session, e.cause, e.fields, e.into_user, e.external_id"
    static let columnCount = 9

    init(row: Row) throws(StoreError) {
        var cause: SessionEndCause?
        if row.hasNull(atIndex: 5) == false { cause = try row.value(5) }
        self.init(
            id: EventID(unchecked: try row.text(0)), kind: try row.value(1), time: try row.moment(2),
            user: UserID(unchecked: try row.text(3)), externalID: row[8] as String?,
            session: (row[4] as String?).map { SessionID(unchecked: $0) }, cause: cause,
            fields: try StringList.decode(try row.text(6)),
            into: (row[7] as String?).map { UserID(unchecked: $0) })
    }
}

extension Database: EventJournal {
    package func events(after id: EventID?, limit: Int) async throws(StoreError) -> [JournalEntry] {
        try await read { connection in
            var sequence: Int64 = 0
            if let id {
                sequence =
                    try connection.integer("SELECT sequence FROM event WHERE id = ?", [id.rawValue]) ?? 0
            }
            return try connection.rows(
                """
                SELECT \(JournalEntry.columns) FROM event e WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?
                """, [sequence, limit]
            ).map { try JournalEntry(row: $0) }
        }
    }

    package func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(StoreError) -> EventPage? {
        try await read { connection in
            var sequence: Int64 = 0
            if let place {
                guard let found = try connection.sequence(of: place) else { return nil }
                sequence = found
            }
            let (condition, wanted) = filter.condition
            var arguments: StatementArguments = [sequence]
            arguments += wanted
            arguments += [limit + 1]
            let rows = try connection.rows(
                """
                SELECT \(JournalEntry.columns), e.sequence FROM event e
                WHERE e.sequence > ? AND \(condition) ORDER BY e.sequence LIMIT ?
                """, arguments)
            // One more than asked for tells whether there is another page.
            let items = try rows.prefix(limit).map { try JournalEntry(row: $0) }
            var next: EventPlace?
            if rows.count > limit, let last = rows.prefix(limit).last {
                next = .sequence(last[JournalEntry.columnCount] as Int64? ?? 0)
            }
            return EventPage(items: items, next: next)
        }
    }
}

extension SQLiteConnection {
    /// Of the newest entry there ever was; 0 before the first.
    func lastEventSequence() throws -> Int64 {
        try integer("SELECT \(WebhookQuery.lastSequence)") ?? 0
    }

    /// The place as a sequence; nil when events behind it may have been deleted. The oldest go first, and the newest
    /// never goes: the counter of AUTOINCREMENT and the first row left tell what is missing.
    fileprivate func sequence(of place: EventPlace) throws -> Int64? {
        switch place {
        case .event(let id): return try integer("SELECT sequence FROM event WHERE id = ?", [id.rawValue])
        case .sequence(let sequence):
            let last = try lastEventSequence()
            let first = try integer("SELECT min(sequence) FROM event") ?? last + 1
            return sequence >= first - 1 && sequence <= last ? sequence : nil
        }
    }
}
