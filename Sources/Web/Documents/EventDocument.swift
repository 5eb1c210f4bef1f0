package import Accounts
package import Coding

/// A journal entry as JSON: ids and names of changed fields, never personal values.
package enum EventDocument {
    package static func write(_ entry: JournalEntry, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", entry.id.rawValue)
        writer.member("type", entry.kind.rawValue)
        writer.member("time", entry.time)
        writer.name("data")
        writeData(entry, to: &writer)
        writer.endObject()
    }

    /// What an event is about: `user`, and where they apply `externalID`, `session`, `cause`, `into` and `fields`.
    package static func writeData(_ entry: JournalEntry, to writer: inout JSONWriter) {
        writer.beginObject()
        entry.writeSubject(to: &writer)
        writer.endObject()
    }
}
