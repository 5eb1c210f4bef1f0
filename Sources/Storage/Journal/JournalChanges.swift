import RelyingParty

/// What was written since the last look, by any process.
struct JournalChanges {
    /// What caches must forget.
    var entries: [SessionInvalidations.Entry] = []
    /// Somebody was, or may have been, erased.
    var erased = false
}

extension Snapshot {
    /// Changes from the entries after `sequence`. Includes our own; evicting twice costs little.
    func changes(after sequence: Int64) throws -> (Int64, JournalChanges) {
        let last = try lastEventSequence()
        guard last != sequence else { return (sequence, JournalChanges()) }
        let first = try value("SELECT min(sequence) FROM event") ?? last + 1
        // Entries were deleted before they were seen, or a backup was restored: what changed is unknown.
        guard last > sequence, first <= sequence + 1 else {
            return (last, JournalChanges(entries: [.all], erased: true))
        }
        var changes = JournalChanges()
        for row in try rows(
            """
            SELECT user, max(CASE WHEN type = 'account.deleted' OR fields LIKE '%"identities"%' THEN 1 ELSE 0 END) AS erases FROM event
            WHERE sequence > ? AND sequence <= ? AND type <> 'user.created'
            AND (type <> 'session.created' OR cause IS NOT NULL) GROUP BY user
            """, [sequence, last])
        {
            changes.entries.append(.user(try row["user"]))
            if try row["erases"] { changes.erased = true }
        }
        return (last, changes)
    }
}
