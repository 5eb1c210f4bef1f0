package import Accounts
package import Coding

/// Apple's recorded notification as JSON, for the operator.
package enum NotificationDocument {
    /// - Parameter includingPayload: adds the verified claims in `payload`, null once erased. They name the person.
    package static func write(
        _ notification: RecordedNotification, includingPayload: Bool = false, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("jti", notification.id)
        writer.member("type", notification.type)
        writer.member("clientID", notification.clientID.rawValue)
        writer.member("subject", notification.subject?.rawValue)
        writer.member("eventTime", notification.eventTime)
        writer.member("receivedAt", notification.receivedAt)
        writer.member("outcome", notification.outcome.rawValue)
        if includingPayload {
            writer.name("payload")
            // Written by us from verified claims, so it parses.
            if let payload = notification.payload, let value = try? JSONReader.parse(Array(payload.utf8)) {
                writer.write(value)
            } else {
                writer.writeNull()
            }
        }
        writer.endObject()
    }
}
