package import RelyingParty

extension Database: JournalTail {
    package func lastEvents(_ filter: JournalFilter, limit: Int) async throws(StoreError) -> JournalPart {
        try await read { connection in
            var conditions = ["1"]
            var arguments = StatementArguments()
            if !filter.kinds.isEmpty {
                let kinds = filter.kinds.map(\.rawValue)
                conditions.append("e.type IN (\(kinds.map { _ in "?" }.joined(separator: ", ")))")
                arguments += StatementArguments(kinds)
            }
            if let user = filter.user {
                conditions.append("e.user = ?")
                arguments += [user.rawValue]
            }
            arguments += [limit]
            let rows = try connection.rows(
                """
                SELECT \(JournalEntry.columns) FROM event e WHERE \(conditions.joined(separator: " AND "))
                ORDER BY e.sequence DESC LIMIT ?
                """, arguments)
            let end = try connection.lastEventSequence()
            return JournalPart(
                entries: try rows.reversed().map { try JournalEntry(row: $0) }, end: JournalPosition(sequence: end))
        }
    }

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

    package func position(of id: EventID) async throws(StoreError) -> JournalPosition? {
        try await read { connection in
            try connection.integer("SELECT sequence FROM event WHERE id = ?", [id.rawValue]).map {
                JournalPosition(sequence: $0)
            }
        }
    }
}
