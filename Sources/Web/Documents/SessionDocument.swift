package import Accounts
package import Coding

/// A session as JSON. Never its token, except for the app that signs in, nor the token's hash.
package enum SessionDocument {
    /// The document of `GET /api/v1/session`.
    /// - Parameters:
    ///   - token: for the app that has just signed in: a member before the others.
    ///   - result: the first member, in answers that have it.
    static func encode(_ signedIn: SignedIn, token: SessionToken? = nil, result: String? = nil) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        if let result { writer.member("result", result) }
        if let token { writer.member("token", token.reveal()) }
        writer.name("user")
        UserDocument.write(signedIn.user, includingState: false, to: &writer)
        writer.name("session")
        writer.beginObject()
        writeTimes(signedIn.session, to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    /// With the device it was created on: for its owner, and for the operator.
    package static func write(_ session: Session, to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(session, to: &writer)
        writer.endObject()
    }

    /// The same with the time of the sign-in by Apple's clock: for the person's own export.
    static func writeWhole(_ session: Session, to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(session, to: &writer)
        writer.member("issuedAt", session.issuedAt)
        writer.endObject()
    }

    private static func writeMembers(_ session: Session, to writer: inout JSONWriter) {
        writeTimes(session, to: &writer)
        writer.member("kind", session.kind.rawValue)
        writer.member("clientID", session.clientID.rawValue)
        writer.member("userAgent", session.device.userAgent)
        writer.member("address", session.device.address)
    }

    /// The same with its user in `user`, and their display name: for the operator.
    package static func writeWithUser(
        _ session: Session, name: String?, email: String?, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("user", session.user.rawValue)
        writer.member("name", name)
        writer.member("email", email)
        writeMembers(session, to: &writer)
        writer.endObject()
    }

    private static func writeTimes(_ session: Session, to writer: inout JSONWriter) {
        writer.member("id", session.id.rawValue)
        writer.member("createdAt", session.createdAt)
        writer.member("lastSeenAt", session.lastSeenAt)
        writer.member("expiresAt", session.expiresAt)
    }
}
