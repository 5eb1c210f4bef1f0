import Accounts
import Coding

/// A live session in the form of RFC 7662 §2.2: its standard members first, then ours.
enum IntrospectionDocument {
    /// - Parameter end: when the session ends unless it is used before.
    static func encode(_ signedIn: SignedIn, issuer: String, end: Timestamp) -> [UInt8] {
        let (session, user) = (signedIn.session, signedIn.user)
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
        person(user, &writer)
        writer.endObject()
        return writer.bytes
    }

    /// A program's access token.
    static func encode(_ held: HeldGrant, issuer: String) -> [UInt8] {
        let (grant, user) = (held.grant, held.user)
        var writer = JSONWriter(reserving: 640)
        writer.beginObject()
        writer.member("active", true)
        writer.member("sub", user.id.rawValue)
        if let email = user.email?.forApplications { writer.member("username", email) }
        writer.member("client_id", grant.client.rawValue)
        writer.member("token_type", "Bearer")
        writer.member("scope", OpenIDScope.text(held.accessScopes))
        writer.member("iss", issuer)
        if let access = grant.access { writer.member("exp", access.expiresAt.seconds) }
        writer.member("sid", grant.session.rawValue)
        person(user, &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func person(_ user: User, _ writer: inout JSONWriter) {
        if let externalID = user.externalID { writer.member("external_id", externalID) }
        if let email = user.email, email.isPlain {
            writer.member("email", email.address)
            writer.member("email_verified", email.isVerified)
        }
        writer.name("groups")
        writer.beginArray()
        for group in user.groups { writer.write(group) }
        writer.endArray()
    }
}
