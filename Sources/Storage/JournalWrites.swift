import Coding
import GRDB
package import RelyingParty

// The journal is written in the transaction of what it tells.
extension SQLiteConnection {
    func record(
        _ kind: JournalEntry.Kind, user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], at now: Timestamp, identifiers: RandomIdentifier
    ) throws {
        let id: EventID = identifiers.make()
        try run(
            """
            INSERT INTO event (id, type, time, user, session, cause, fields) VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                id.rawValue, kind.rawValue, now.milliseconds, user.rawValue, session?.rawValue, cause?.rawValue,
                StringList.encode(fields),
            ])
    }
}

extension JournalEntry {
    static let columns = "e.id, e.type, e.time, e.user, e.session, e.cause, e.fields"

    init(row: Row) throws(StoreError) {
        var cause: SessionEndCause?
        if row.hasNull(atIndex: 5) == false { cause = try row.value(5) }
        self.init(
            id: EventID(unchecked: try row.text(0)), kind: try row.value(1), time: try row.moment(2),
            user: UserID(unchecked: try row.text(3)),
            session: (row[4] as String?).map { SessionID(unchecked: $0) }, cause: cause,
            fields: try StringList.decode(try row.text(6)))
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
}
