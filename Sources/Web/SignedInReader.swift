import Accounts
import Coding
import HTTP
import HTTPTypes

/// Finds the session that a request presents.
struct SignedInReader: Sendable {
    /// The credential of a request.
    enum Credential: Sendable {
        case none
        /// A cookie: browser sessions only.
        case cookie(SessionToken)
        /// `Authorization: Bearer` with our prefix: an app's session only.
        case bearer(SessionToken)
    }

    let database: Database
    let cookies: Cookies
    let limits: SessionLimits
    let clock: any WallClock

    /// A Bearer with our prefix takes precedence over cookies; one without it belongs to some application and is
    /// ignored. Several session cookies, or several `Authorization` fields, are no credential.
    func credential(in fields: HTTPFields) -> Credential {
        let authorizations = fields[values: .authorization]
        if let authorization = authorizations.first, let text = Self.bearer(authorization) {
            guard authorizations.count == 1, let token = SessionToken(parsing: text) else { return .none }
            return .bearer(token)
        }
        guard case .one(let value) = cookies.session(in: fields), let token = SessionToken(parsing: value) else {
            return .none
        }
        return .cookie(token)
    }

    /// The credential of a request that changes something. A browser attaches cookies to other sites' requests; only
    /// the app that holds a Bearer attaches it.
    /// - Throws: when there is none (401), wherever the request comes from, or when it has neither a Bearer nor comes
    ///   from a page of ours (403).
    func changing(_ fields: HTTPFields, _ publicURL: PublicURL) throws(Failure) -> Credential {
        let credential = credential(in: fields)
        switch credential {
        case .none: throw Failure(.signedOut)
        case .bearer: return credential
        case .cookie: break
        }
        guard SameOrigin.holds(fields, publicURL: publicURL) else { throw Failure(.crossSite) }
        return credential
    }

    /// The live session of the credential, whatever the state of its user; nil when there is none. Writes `lastSeenAt`
    /// when due.
    func signedIn(_ credential: Credential) async throws(Failure) -> SignedIn? {
        let token: SessionToken
        let kind: SessionKind
        switch credential {
        case .none: return nil
        case .cookie(let value): (token, kind) = (value, .browser)
        case .bearer(let value): (token, kind) = (value, .native)
        }
        return try await live(token, only: kind)
    }

    /// The same for what only improves an answer: nil as well when the store does not answer.
    func signedInIfKnown(_ fields: HTTPFields) async -> SignedIn? {
        (try? await signedIn(credential(in: fields))) ?? nil
    }

    /// The live session of a token, however it came, whatever the state of its user.
    /// - Parameter kind: if given, sessions of the other kind are ignored.
    func live(_ token: SessionToken, only kind: SessionKind? = nil) async throws(Failure) -> SignedIn? {
        let now = clock.now()
        guard var found = try await database.signedIn(token: token.hash, at: now) else { return nil }
        guard kind == nil || found.session.kind == kind, now < limits.end(of: found.session) else { return nil }
        if now >= found.session.lastSeenAt.adding(milliseconds: limits.touchInterval) {
            // Recording the use is optional: a store that cannot write must not sign anybody out.
            try? await database.touch(found.session.id, at: now)
            found.session.lastSeenAt = now
        }
        return found
    }

    /// The live session of the credential with its active user; throws when there is none.
    func active(_ credential: Credential) async throws(Failure) -> SignedIn {
        let found = try await signedIn(credential)
        guard let found else { throw Failure(.signedOut) }
        try found.user.requireActive()
        return found
    }

    /// The token of a Bearer credential (RFC 6750 §2.1) with our session prefix.
    private static func bearer(_ authorization: String) -> String? {
        let (scheme, credentials) = HTTPFields.authorization(authorization)
        guard scheme == "bearer", let credentials, credentials.hasPrefix(SessionToken.prefix) else { return nil }
        return credentials
    }
}

extension HTTPFields {
    /// The scheme of an `Authorization`, in lower case, and its credentials; nil where there are none. Schemes are
    /// compared without case (RFC 9110 §11.1), followed by at least one space.
    static func authorization(_ value: String) -> (scheme: String, credentials: String?) {
        let parts = value.split(separator: " ", maxSplits: 1)
        return (parts.first?.lowercased() ?? "", parts.count == 2 ? String(parts[1].drop { $0 == " " }) : nil)
    }
}

extension Session {
    /// Seconds for which a sign-in is recent enough for what cannot be undone: the deletion of an account, on a page or
    /// through the API.
    static let recent: Int64 = 600

    /// A sign-in may be ahead of our clock by a minute, while a clock is being corrected. Beyond that, its age is
    /// unknown.
    func isRecent(at now: Timestamp) -> Bool {
        now < createdAt.adding(seconds: Self.recent) && createdAt <= now.adding(seconds: 60)
    }
}

extension User {
    /// Returns for an active user; otherwise throws why not.
    func requireActive() throws(Failure) {
        switch state {
        case .active: return
        case .pending: throw Failure(.userPending)
        case .disabled: throw Failure(.userDisabled)
        }
    }
}
