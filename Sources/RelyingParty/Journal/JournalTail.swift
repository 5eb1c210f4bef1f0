/// Which entries of the journal are wanted; what is empty or nil does not narrow.
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

/// A place in the journal: everything up to it was read. Moves on though nothing that was wanted came.
package struct JournalPosition: Hashable, Comparable, Sendable {
    package var sequence: Int64

    package init(sequence: Int64) {
        self.sequence = sequence
    }

    package static func < (left: JournalPosition, right: JournalPosition) -> Bool { left.sequence < right.sequence }
}

/// Entries in the order they were committed, and the place after all that was looked at.
package struct JournalPart: Hashable, Sendable {
    package var entries: [JournalEntry]
    package var end: JournalPosition

    package init(entries: [JournalEntry], end: JournalPosition) {
        self.entries = entries
        self.end = end
    }
}
