import Accounts
import Coding

extension SignedIn {
    /// The document of `GET /api/v1/session`, with the token only for the app that has just signed in.
    func document(token: SessionToken? = nil) -> [UInt8] {
        JSONWriter.object(reserving: 1024) { writer in
            if let token { writer.member("token", token.reveal()) }
            writer.name("user")
            writer.write(user, User.fieldsOfActive)
            writer.name("session")
            writer.write(session, Session.times)
        }
    }

    /// A live session in the form of RFC 7662 §2.2; `end` is when it expires if it is not used.
    func introspection(issuer: String, end: Timestamp) -> [UInt8] {
        JSONWriter.introspection(of: user, client: session.clientID.rawValue) { writer in
            writer.member("iss", issuer)
            writer.member("iat", session.createdAt.seconds)
            writer.member("exp", end.seconds)
            writer.member("sid", session.id.rawValue)
            writer.member("session_kind", session.kind.rawValue)
        }
    }
}

extension HeldGrant {
    /// An application's access token in the form of RFC 7662 §2.2.
    func introspection(issuer: String) -> [UInt8] {
        let (service, scopes) = (accessService, accessScopes)
        let claims = service == nil ? scopes : []
        return JSONWriter.introspection(of: user, client: clientID, claims: claims) { writer in
            writer.member("scope", OpenIDScope.text(service == nil ? scopes : scopes.filter { !$0.isIdentity }))
            writer.member("iss", issuer)
            if let service {
                writer.member("aud", service.uri)
                writer.member("iat", grant.accessIssuedAt.seconds)
            }
            if let access = grant.access { writer.member("exp", access.expiresAt.seconds) }
            if service == nil { writer.member("sid", grant.session.rawValue) }
        }
    }
}

extension JSONWriter {
    /// An active token: the standard members first, then ours about its person, as far as `claims` allow.
    fileprivate static func introspection(
        of user: User, client: String, claims: [OpenIDScope] = OpenIDScope.identity,
        _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        object(reserving: 640) { writer in
            writer.member("active", true)
            writer.member("sub", user.id.rawValue)
            if claims.contains(.email), let email = user.email?.forApplications { writer.member("username", email) }
            writer.member("client_id", client)
            // A bearer token (RFC 6750 §1.2), even when it comes in a cookie.
            writer.member("token_type", "Bearer")
            members(&writer)
            if claims.contains(.openid), let externalID = user.externalID { writer.member("external_id", externalID) }
            if claims.contains(.email), let email = user.email, email.isPlain {
                writer.member("email", email.address)
                writer.member("email_verified", email.isVerified)
            }
            if claims.contains(.groups) { writer.member("groups", .texts(user.memberships)) }
        }
    }
}
