import Accounts
import Coding

extension SignedIn {
    /// The document of `GET /api/v1/session`: never the token, except for the app that signs in, nor the token's hash.
    /// - Parameter token: for the app that has just signed in: a member before the others.
    func document(token: SessionToken? = nil) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        if let token { writer.member("token", token.reveal()) }
        writer.name("user")
        writer.write(user, User.fieldsOfActive)
        writer.name("session")
        writer.write(session, Session.times)
        writer.endObject()
        return writer.bytes
    }

    /// A live session in the form of RFC 7662 §2.2: its standard members first, then ours.
    /// - Parameter end: when the session ends unless it is used before.
    func introspection(issuer: String, end: Timestamp) -> [UInt8] {
        var writer = JSONWriter(reserving: 640)
        writer.beginObject()
        writer.member("active", true)
        writer.member("sub", user.id.rawValue)
        if let email = user.email?.forApplications { writer.member("username", email) }
        writer.member("client_id", session.clientID.rawValue)
        // Its holder is trusted (RFC 6750 §1.2), whether it comes in a cookie or not.
        writer.member("token_type", "Bearer")
        writer.member("iss", issuer)
        writer.member("iat", session.createdAt.seconds)
        writer.member("exp", end.seconds)
        writer.member("sid", session.id.rawValue)
        writer.member("session_kind", session.kind.rawValue)
        writer.person(user)
        writer.endObject()
        return writer.bytes
    }
}

extension HeldGrant {
    /// A program's access token in the form of RFC 7662 §2.2.
    func introspection(issuer: String) -> [UInt8] {
        var writer = JSONWriter(reserving: 640)
        writer.beginObject()
        writer.member("active", true)
        writer.member("sub", user.id.rawValue)
        if let email = user.email?.forApplications { writer.member("username", email) }
        writer.member("client_id", grant.client.rawValue)
        writer.member("token_type", "Bearer")
        writer.member("scope", OpenIDScope.text(accessScopes))
        writer.member("iss", issuer)
        if let access = grant.access { writer.member("exp", access.expiresAt.seconds) }
        writer.member("sid", grant.session.rawValue)
        writer.person(user)
        writer.endObject()
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func person(_ user: User) {
        if let externalID = user.externalID { member("external_id", externalID) }
        if let email = user.email, email.isPlain {
            member("email", email.address)
            member("email_verified", email.isVerified)
        }
        name("groups")
        beginArray()
        for group in user.groups { write(group) }
        endArray()
    }
}
