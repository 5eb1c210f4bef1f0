package import Storage

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
}

/// A position in the journal up to which everything was read. Advances even when nothing matched.
package struct JournalPosition: Hashable, Comparable, Sendable {
    package var sequence: Int64

    package static func < (left: JournalPosition, right: JournalPosition) -> Bool { left.sequence < right.sequence }
}

/// Entries in the order of commits, and the position after everything that was read.
package struct JournalPart: Hashable, Sendable {
    package var entries: [JournalEntry]
    package var end: JournalPosition
}

// The journal, for following it.
extension Database {
    /// The last `limit` matching entries, and the journal's end. For types, which have no index, the journal is read
    /// backwards a piece at a time.
    package func lastEvents(_ filter: JournalFilter, limit: Int) async throws(StoreError) -> JournalPart {
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
        return JournalPart(entries: found.reversed(), end: JournalPosition(sequence: last))
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
