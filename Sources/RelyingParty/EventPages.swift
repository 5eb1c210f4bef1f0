import Coding

/// Where a reader of the journal stands.
package enum EventPlace: Hashable, Sendable {
    /// Behind this event.
    case event(EventID)
    /// Behind this place in the order of commits: what a page ended at. Holds after the event there is deleted.
    case sequence(Int64)
}

/// Some events in the order they were committed, and where the next ones begin.
package struct EventPage: Hashable, Sendable {
    package var items: [JournalEntry]
    /// Nil when these are the last so far.
    package var next: EventPlace?

    package init(items: [JournalEntry], next: EventPlace?) {
        self.items = items
        self.next = next
    }
}
