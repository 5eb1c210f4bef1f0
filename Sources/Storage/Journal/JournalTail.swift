package import RelyingParty

// The journal, for following it.
extension Database {
    /// The last `limit` matching entries, and the journal's end.
    package func lastEvents(_ filter: JournalFilter, limit: Int) async throws(StoreError) -> JournalPart {
        try await read { snapshot in
            let wanted = filter.conditions
            var arguments = wanted.arguments
            arguments += [limit]
            let rows = try snapshot.rows(
                "SELECT \(JournalEntry.columns) FROM event e \(wanted.clause) ORDER BY e.sequence DESC LIMIT ?",
                arguments)
            return JournalPart(
                entries: try rows.reversed().map { try JournalEntry($0) },
                end: JournalPosition(sequence: try snapshot.lastEventSequence()))
        }
    }

    /// The matching ones among the next `limit` entries after `position`.
    package func events(
        _ filter: JournalFilter, after position: JournalPosition, limit: Int
    ) async throws(StoreError) -> JournalPart {
        try await read { snapshot in
            let rows = try snapshot.rows(
                "SELECT \(JournalEntry.columns) FROM event e WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?",
                [position.sequence, limit])
            return JournalPart(
                entries: try rows.map { try JournalEntry($0) }.filter(filter.accepts),
                end: JournalPosition(sequence: try rows.last?["e.sequence"] ?? position.sequence))
        }
    }

    /// The position of an entry; nil when it does not, or no longer, exist.
    package func position(of id: EventID) async throws(StoreError) -> JournalPosition? {
        try await read { snapshot in try snapshot.sequence(of: id).map { JournalPosition(sequence: $0) } }
    }
}

extension JournalFilter {
    /// On the entry `e`.
    var conditions: Conditions {
        var wanted = Conditions()
        wanted.add("e.type", in: Array(kinds))
        if let user { wanted.add("e.user = ?", [user]) }
        return wanted
    }
}
