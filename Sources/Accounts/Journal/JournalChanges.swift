import Storage

extension Snapshot {
    /// The journal's newest entry.
    func journalEnd() throws -> ChangePosition {
        let row = try firstRow("SELECT sequence, salt FROM event ORDER BY sequence DESC LIMIT 1")
        return ChangePosition(number: try row.map { try $0["sequence"] } ?? 0, salt: try row.map { try $0["salt"] })
    }

    /// What the entries after `known` say that `caches` must forget. Includes our own; evicting twice costs little.
    func changes(after known: ChangePosition, _ caches: SessionInvalidations) throws -> Changes {
        let last = try journalEnd()
        var changes = Changes(last)
        guard last != known else { return changes }
        // Entries were deleted before they were seen, a backup was restored, or another server that had not all of them
        // became the primary: what changed is unknown.
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

    /// Whether the journal still has this entry, or has not lost its beginning.
    private func holds(_ known: ChangePosition) throws -> Bool {
        guard let salt = known.salt else { return try value("SELECT min(sequence) FROM event") ?? 1 == 1 }
        let found: [UInt8]? = try value("SELECT salt FROM event WHERE sequence = ?", [known.number])
        return found == salt
    }
}
