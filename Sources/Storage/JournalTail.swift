package import RelyingParty

// The journal as somebody follows it.
extension Database {
    /// The last `limit` entries that are wanted, and the journal's end.
    package func lastEvents(_ filter: JournalFilter, limit: Int) async throws(StoreError) -> JournalPart {
        try await read { connection in
            let (condition, wanted) = filter.condition
            var arguments = wanted
            arguments += [limit]
            let rows = try connection.rows(
                """
                SELECT \(JournalEntry.columns) FROM event e WHERE \(condition)
                ORDER BY e.sequence DESC LIMIT ?
                """, arguments)
            let end = try connection.lastEventSequence()
            return JournalPart(
                entries: try rows.reversed().map { try JournalEntry(row: $0) }, end: JournalPosition(sequence: end))
        }
    }

    /// What is wanted of the next `limit` entries after `position`.
    package func events(
        _ filter: JournalFilter, after position: JournalPosition, limit: Int
    ) async throws(StoreError) -> JournalPart {
        try await read { connection in
            let rows = try connection.rows(
                """
                SELECT \(JournalEntry.columns), e.sequence FROM event e WHERE e.sequence > ?
                ORDER BY e.sequence LIMIT ?
                """, [position.sequence, limit])
            let end = rows.last.flatMap { $0[JournalEntry.columnCount] as Int64? } ?? position.sequence
            return JournalPart(
                entries: try rows.map { try JournalEntry(row: $0) }.filter(filter.accepts),
                end: JournalPosition(sequence: end))
        }
    }

    /// The place of an entry; nil when it is not, or no longer, there.
    package func position(of id: EventID) async throws(StoreError) -> JournalPosition? {
        try await read { connection in
            try connection.integer("SELECT sequence FROM event WHERE id = ?", [id.rawValue]).map {
                JournalPosition(sequence: $0)
            }
        }
    }
}

extension JournalFilter {
    /// The condition on the entry `e`, and its arguments.
    var condition: (sql: String, arguments: StatementArguments) {
        var conditions = ["1"]
        var arguments = StatementArguments()
        if !kinds.isEmpty {
            conditions.append("e.type IN (\(kinds.map { _ in "?" }.joined(separator: ", ")))")
            arguments += StatementArguments(kinds.map(\.rawValue))
        }
        if let user {
            conditions.append("e.user = ?")
            arguments += [user.rawValue]
        }
        return (conditions.joined(separator: " AND "), arguments)
    }
}
