import RelyingParty

/// What was written since the last look, by any process.
struct JournalChanges {
    /// What caches must forget.
    var entries: [SessionInvalidations.Entry] = []
    /// Somebody was, or may have been, erased.
    var erased = false
}

/// Where a reader of the journal is: the newest entry it knows. After a primary was lost, its successor may give the
/// numbers of the last entries again; their salt is random.
struct JournalMark: Hashable, Sendable {
    /// 0 before the first entry ever.
    var sequence: Int64
    /// Nil without an entry of this number.
    var salt: [UInt8]?
}

extension Snapshot {
    func journalMark() throws -> JournalMark {
        let row = try firstRow("SELECT sequence, salt FROM event ORDER BY sequence DESC LIMIT 1")
        return JournalMark(sequence: try row.map { try $0["sequence"] } ?? 0, salt: try row.map { try $0["salt"] })
    }

    /// Changes from the entries after `known`. Includes our own; evicting twice costs little.
    func changes(after known: JournalMark) throws -> (JournalMark, JournalChanges) {
        let last = try journalMark()
        guard last != known else { return (known, JournalChanges()) }
        // Entries were deleted before they were seen, a backup was restored, or another server that had not all of them
        // became the primary: what changed is unknown.
        guard last.sequence > known.sequence, try holds(known) else {
            return (last, JournalChanges(entries: [.all], erased: true))
        }
        var changes = JournalChanges()
        for row in try rows(
            """
            SELECT user, max(CASE WHEN type = 'account.deleted' OR fields LIKE '%"identities"%' THEN 1 ELSE 0 END) AS erases FROM event
            WHERE sequence > ? AND sequence <= ? AND type <> 'user.created'
            AND (type <> 'session.created' OR cause IS NOT NULL) GROUP BY user
            """, [known.sequence, last.sequence])
        {
            changes.entries.append(.user(try row["user"]))
            if try row["erases"] { changes.erased = true }
        }
        return (last, changes)
    }

    /// Whether the journal still has this entry, or has not lost its beginning.
    private func holds(_ known: JournalMark) throws -> Bool {
        guard let salt = known.salt else { return try value("SELECT min(sequence) FROM event") ?? 1 == 1 }
        let found: [UInt8]? = try value("SELECT salt FROM event WHERE sequence = ?", [known.sequence])
        return found == salt
    }
}
