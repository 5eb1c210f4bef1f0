import Coding
package import Storage

extension Transaction {
    /// Writes a journal entry, in the transaction of its event. Call it before the user's row is deleted: the entry
    /// reads the external ID there.
    func record(
        _ kind: JournalEntry.Kind, user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], into: UserID? = nil, link: LinkID? = nil
    ) throws {
        try run(
            """
            INSERT INTO event (salt, type, time, user, session, cause, fields, into_user, link, external_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT external_id FROM user WHERE id = ?4))
            """, [context.identifiers.makeSalt(), kind, now, user, session, cause, TextList(fields), into, link])
        try audit(kind, user: user, cause: cause, fields: fields)
    }
}

extension JournalEntry {
    static let columns = Accounts.columns(
        "e.sequence", "e.salt", "e.type", "e.time", "e.user", "e.session", "e.cause", "e.fields", "e.into_user",
        "e.external_id", "e.link")

    init(_ row: Row) throws(StoreError) {
        let fields: TextList = try row["e.fields"]
        self.init(
            id: EventID(sequence: try row["e.sequence"], salt: try row["e.salt"]), kind: try row["e.type"],
            time: try row["e.time"], user: try row["e.user"],
            externalID: try row["e.external_id"], session: try row["e.session"], cause: try row["e.cause"],
            fields: fields.items, into: try row["e.into_user"], link: try row["e.link"])
    }
}

extension Database {
    /// At most `limit` entries after `id`, in the order of commits; from the first when nil or no longer kept.
    package func events(after id: EventID?, limit: Int) async throws(StoreError) -> [JournalEntry] {
        try await read { snapshot in
            let sequence = try id.flatMap { try snapshot.sequence(of: $0) } ?? 0
            return try snapshot.rows(
                "SELECT \(JournalEntry.columns) FROM event e WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?",
                [sequence, limit]
            ).map { try JournalEntry($0) }
        }
    }

    /// At most `limit` matching entries after `place`, or from the first one kept. Nil when events after that place may
    /// already be deleted, so that the reader would miss them without knowing.
    package func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(StoreError) -> EventPage? {
        try await read { snapshot in
            var wanted = filter.conditions
            var start: Int64?
            if let place {
                guard let sequence = try snapshot.sequence(of: place) else { return nil }
                start = sequence
                wanted.add("e.sequence > ?", [sequence])
            }
            // There is no index for types: only so much of the journal is read for one page.
            var end: Int64?
            if !filter.kinds.isEmpty, filter.user == nil {
                let first = try start ?? snapshot.value("SELECT min(sequence) FROM event") ?? 0
                let (last, far) = (try snapshot.lastEventSequence(), first + Self.scannedEvents)
                if far < last {
                    end = far
                    wanted.add("e.sequence <= ?", [far])
                }
            }
            let (items, isLast) = try snapshot.page(
                "SELECT \(JournalEntry.columns) FROM event e \(wanted.clause) ORDER BY e.sequence LIMIT ?",
                wanted.arguments, limit: limit
            ) { row -> (entry: JournalEntry, sequence: Int64) in (try JournalEntry(row), try row["e.sequence"]) }
            let next = isLast ? end : items.last?.sequence
            return EventPage(items: items.map(\.entry), next: next.map { .sequence($0) })
        }
    }

    /// Entries of the journal that one read for some types looks through: 5 ms.
    static let scannedEvents: Int64 = 10_000
}

extension Snapshot {
    /// The sequence of the newest entry ever; 0 before the first.
    func lastEventSequence() throws -> Int64 {
        try value("SELECT \(WebhookQuery.lastSequence)") ?? 0
    }

    /// Nil when there is no such entry, or no longer.
    func sequence(of id: EventID) throws -> Int64? {
        guard let (sequence, salt) = id.sequenceAndSalt else { return nil }
        return try value("SELECT sequence FROM event WHERE sequence = ? AND salt = ?", [sequence, salt])
    }

    /// The position as a sequence; nil when later events may have been deleted. The oldest are deleted first, and the
    /// newest never: the counter of AUTOINCREMENT and the first remaining row tell what is missing.
    fileprivate func sequence(of place: EventPlace) throws -> Int64? {
        switch place {
        case .event(let id): return try sequence(of: id)
        case .sequence(let sequence):
            let last = try lastEventSequence()
            let first = try value("SELECT min(sequence) FROM event") ?? last + 1
            return sequence >= first - 1 && sequence <= last ? sequence : nil
        }
    }
}
