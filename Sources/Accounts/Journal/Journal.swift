package import Coding
import Storage

/// One entry of the event journal: what changed, and for whom; never the values.
package struct JournalEntry: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case userCreated = "user.created"
        /// A new person waits for approval (`access.signUp`).
        case userPending = "user.pending"
        case userUpdated = "user.updated"
        case sessionCreated = "session.created"
        case sessionEnded = "session.ended"
        case consentRevoked = "consent.revoked"
        case accountDeleted = "account.deleted"
        case emailDisabled = "email.disabled"
        case emailEnabled = "email.enabled"
        case userTransferred = "user.transferred"
        /// Apple was linked to an account of the application.
        case accountLinked = "account.linked"
        /// Apple was linked to replace the account's password.
        case accountUpgraded = "account.upgraded"
        /// The person or an operator ended what an application holds of the person.
        case accessEnded = "access.ended"
    }

    package var id: EventID
    package var kind: Kind
    package var time: Timestamp
    package var user: UserID
    /// The application's id of the user, after the change or before deletion: the user may be gone when this is read.
    package var externalID: String?
    package var session: SessionID?
    package var cause: SessionEndCause?
    /// Names of the user's changed fields, as in the API.
    package var fields: [String] = []
    /// The user that this one was merged into.
    package var into: UserID?
    /// The link that was completed.
    package var link: LinkID?
    /// The application whose access ended.
    package var client: OpenIDClientID?
}

/// A reader's position in the journal.
package enum EventPlace: Hashable, Sendable {
    /// After this event.
    case event(EventID)
    /// After this sequence number, where a page ended. Stays valid when the event there is deleted.
    case sequence(Int64)
}

/// In the order of commits.
package typealias EventPage = Page<JournalEntry, EventPlace>

extension Transaction {
    /// Writes a journal entry in its event's transaction, before the user's row (with the external ID) is deleted.
    func record(
        _ kind: JournalEntry.Kind, user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], into: UserID? = nil, link: LinkID? = nil, client: OpenIDClientID? = nil
    ) throws {
        try run(
            """
            INSERT INTO event (salt, type, time, user, session, cause, fields, into_user, link, client, external_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (SELECT external_id FROM user WHERE id = ?4))
            """,
            [context.identifiers.makeSalt(), kind, now, user, session, cause, TextList(fields), into, link, client])
        try audit(kind, user: user, cause: cause, fields: fields)
    }
}

extension JournalEntry {
    static let columns = Accounts.columns(
        "e.sequence", "e.salt", "e.type", "e.time", "e.user", "e.session", "e.cause", "e.fields", "e.into_user",
        "e.external_id", "e.link", "e.client")

    init(_ row: Row) throws(StoreError) {
        id = EventID(sequence: try row["e.sequence"], salt: try row["e.salt"])
        kind = try row["e.type"]
        time = try row["e.time"]
        user = try row["e.user"]
        externalID = try row["e.external_id"]
        session = try row["e.session"]
        cause = try row["e.cause"]
        fields = try row.texts("e.fields")
        into = try row["e.into_user"]
        link = try row["e.link"]
        client = try row["e.client"]
    }
}

extension Database {
    /// At most `limit` matching entries after `place`, or from the first; nil if entries in between may be deleted.
    package func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(Failure) -> EventPage? {
        try await read { snapshot in
            var wanted = filter.conditions
            var start: Int64?
            if let place {
                guard let sequence = try snapshot.sequence(of: place) else { return nil }
                start = sequence
                wanted.add("e.sequence > ?", [sequence])
            }
            // There is no index for types, so a page scans only part of the journal.
            var end: Int64?
            if !filter.kinds.isEmpty, filter.user == nil {
                let first = try start ?? snapshot.value("SELECT min(sequence) FROM event") ?? 0
                let (last, far) = (try snapshot.lastEventSequence(), first + Self.scannedEvents)
                if far < last {
                    end = far
                    wanted.add("e.sequence <= ?", [far])
                }
            }
            let page = try snapshot.page(
                "SELECT \(JournalEntry.columns) FROM event e \(wanted.clause) ORDER BY e.sequence LIMIT ?",
                wanted.arguments, limit: limit, place: \.sequence
            ) { row -> (entry: JournalEntry, sequence: Int64) in (try JournalEntry(row), try row["e.sequence"]) }
            return EventPage(items: page.items.map(\.entry), next: (page.next ?? end).map { .sequence($0) })
        }
    }

    /// Entries that one read scans for types: 5 ms.
    static let scannedEvents: Int64 = 10_000

    // For following the journal: entries in the order of commits, and the position after everything read, which advances even
    // when nothing matched.
    /// The last `limit` matching entries, and the journal's end. For types, which have no index, the journal is read
    /// backwards in parts.
    package func lastEvents(
        _ filter: JournalFilter, limit: Int
    ) async throws(Failure) -> (entries: [JournalEntry], end: Int64) {
        let (first, last) = try await read { snapshot -> (Int64, Int64) in
            let last = try snapshot.lastEventSequence()
            return (try snapshot.value("SELECT min(sequence) FROM event") ?? last + 1, last)
        }
        let piece = filter.kinds.isEmpty || filter.user != nil ? last - first + 1 : Self.scannedEvents
        var (found, end) = ([JournalEntry](), last)
        while end >= first, found.count < limit {
            let (upTo, rest) = (end, limit - found.count)
            found += try await read { snapshot in
                var wanted = filter.conditions
                wanted.add("e.sequence > ? AND e.sequence <= ?", [upTo - piece, upTo])
                var arguments = wanted.arguments
                arguments += [rest]
                return try snapshot.rows(
                    "SELECT \(JournalEntry.columns) FROM event e \(wanted.clause) ORDER BY e.sequence DESC LIMIT ?",
                    arguments
                ).map { try JournalEntry($0) }
            }
            end -= piece
        }
        return (found.reversed(), last)
    }

    /// The matching ones among the next `limit` entries after `position`.
    package func events(
        _ filter: JournalFilter, after position: Int64, limit: Int
    ) async throws(Failure) -> (entries: [JournalEntry], end: Int64) {
        try await read { snapshot in
            let rows = try snapshot.rows(
                "SELECT \(JournalEntry.columns) FROM event e WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?",
                [position, limit])
            return (
                try rows.map { try JournalEntry($0) }.filter(filter.accepts), try rows.last?["e.sequence"] ?? position
            )
        }
    }

    /// Nil when it does not exist, or no longer.
    package func position(of id: EventID) async throws(Failure) -> Int64? {
        try await read { snapshot in try snapshot.sequence(of: id) }
    }
}

extension Snapshot {
    /// The sequence of the newest entry ever; 0 before the first.
    func lastEventSequence() throws -> Int64 { try value("SELECT \(WebhookQuery.lastSequence)") ?? 0 }

    /// Nil when there is no such entry, or no longer.
    func sequence(of id: EventID) throws -> Int64? {
        guard let (sequence, salt) = id.sequenceAndSalt else { return nil }
        return try value("SELECT sequence FROM event WHERE sequence = ? AND salt = ?", [sequence, salt])
    }

    /// The position as a sequence; nil when later events may have been deleted, by the first and the last row.
    fileprivate func sequence(of place: EventPlace) throws -> Int64? {
        switch place {
        case .event(let id): return try sequence(of: id)
        case .sequence(let sequence):
            let last = try lastEventSequence()
            let first = try value("SELECT min(sequence) FROM event") ?? last + 1
            return sequence >= first - 1 && sequence <= last ? sequence : nil
        }
    }

    func journalEnd() throws -> ChangePosition {
        let row = try firstRow("SELECT sequence, salt FROM event ORDER BY sequence DESC LIMIT 1")
        return ChangePosition(number: try row.map { try $0["sequence"] } ?? 0, salt: try row.map { try $0["salt"] })
    }

    /// The evictions from `caches` that the entries after `known` require, our own included: evicting twice costs
    /// little.
    func changes(after known: ChangePosition, _ caches: SessionInvalidations) throws -> Changes {
        let last = try journalEnd()
        var changes = Changes(last)
        guard last != known else { return changes }
        // Unread entries were deleted, or an older copy of the database took over, so the changes are unknown.
        guard last.number > known.number, try holds(known) else {
            changes.erased = true
            changes.forget = { caches.append([.all]) }
            return changes
        }
        var entries: [SessionInvalidations.Entry] = []
        for row in try rows(
            """
            SELECT user, max(CASE WHEN type = 'account.deleted' OR fields LIKE '%"identities"%' THEN 1 ELSE 0 END) AS erases FROM event
            WHERE sequence > ? AND sequence <= ? AND type <> 'user.created'
            AND (type <> 'session.created' OR cause IS NOT NULL) GROUP BY user
            """, [known.number, last.number])
        {
            entries.append(.user(try row["user"]))
            if try row["erases"] { changes.erased = true }
        }
        changes.forget = { [entries] in caches.append(entries) }
        return changes
    }

    /// Whether the journal still has this entry; for its beginning, whether that was never deleted.
    private func holds(_ known: ChangePosition) throws -> Bool {
        guard let salt = known.salt else { return try value("SELECT min(sequence) FROM event") ?? 1 == 1 }
        let found: [UInt8]? = try value("SELECT salt FROM event WHERE sequence = ?", [known.number])
        return found == salt
    }
}

/// Selects journal entries; empty and nil values select all.
package struct JournalFilter: Hashable, Sendable {
    package var kinds: Set<JournalEntry.Kind>
    package var user: UserID?

    package init(kinds: Set<JournalEntry.Kind> = [], user: UserID? = nil) {
        self.kinds = kinds
        self.user = user
    }

    package func accepts(_ entry: JournalEntry) -> Bool {
        (kinds.isEmpty || kinds.contains(entry.kind)) && (user == nil || entry.user == user)
    }

    /// On the entry `e`.
    var conditions: Conditions {
        var wanted = Conditions()
        wanted.add("e.type", in: Array(kinds))
        if let user { wanted.add("e.user = ?", [user]) }
        return wanted
    }
}
