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
