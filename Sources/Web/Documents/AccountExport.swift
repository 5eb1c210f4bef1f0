package import Coding
package import RelyingParty

/// Everything stored about a person as JSON, for `GET /account/export` and `bramley users export`. Never a token,
/// sealed or not.
package enum AccountExport {
    /// - Parameter now: when the record was read.
    package static func encode(_ record: AccountRecord, at now: Timestamp) -> [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.beginObject()
        writer.member("exportedAt", now)
        writer.member("complete", record.isComplete)
        writer.name("user")
        UserDocument.write(record.user, to: &writer)
        writer.member("updatedAt", record.updatedAt)
        writer.member("emailForwardingChangedAt", record.emailForwardingChangedAt)
        writer.name("appleIdentities")
        list(record.identities, write: write, to: &writer)
        writer.name("sessions")
        list(record.sessions, write: SessionDocument.writeWhole, to: &writer)
        writer.name("programs")
        list(record.programs, write: write, to: &writer)
        writer.name("programSessions")
        list(record.participants, write: write, to: &writer)
        writer.name("notifications")
        list(record.notifications, write: write, to: &writer)
        writer.name("events")
        list(record.events, write: EventDocument.write, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func list<Element>(
        _ elements: [Element], write: (Element, inout JSONWriter) -> Void, to writer: inout JSONWriter
    ) {
        writer.beginArray()
        for element in elements { write(element, &writer) }
        writer.endArray()
    }

    private static func write(_ identity: AccountRecord.Identity, to writer: inout JSONWriter) {
        writer.beginObject()
        CredentialDocument.members(of: identity, to: &writer)
        writer.name("unfinishedName")
        if let name = identity.unfinishedName {
            writer.beginObject()
            writer.member("given", name.given)
            writer.member("family", name.family)
            writer.member("savedAt", identity.unfinishedSince)
            writer.endObject()
        } else {
            writer.writeNull()
        }
        writer.endObject()
    }

    private static func write(_ program: AccountRecord.Program, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("clientID", program.clientID)
        writer.member("scope", program.scopes.joined(separator: " "))
        writer.member("redirectURI", program.redirectURI)
        writer.member("session", program.session.rawValue)
        writer.member("signedInAt", program.signedInAt)
        writer.member("expiresAt", program.expiresAt)
        writer.member("offline", program.isOffline)
        writer.endObject()
    }

    private static func write(_ participant: AccountRecord.Participant, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("clientID", participant.clientID)
        writer.member("session", participant.session.rawValue)
        writer.endObject()
    }

    private static func write(_ notification: AccountRecord.Notification, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", notification.type)
        writer.member("clientID", notification.clientID?.rawValue)
        writer.member("eventTime", notification.eventTime)
        writer.member("receivedAt", notification.receivedAt)
        writer.member("outcome", notification.outcome)
        writer.endObject()
    }
}
