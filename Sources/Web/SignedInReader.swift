import Accounts
import Coding
import HTTPTypes

struct SignedInReader: Sendable {
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

    /// A Bearer with our prefix precedes cookies; others are an application's. Several of either are no credential.
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

    /// The credential of a request that changes something: browsers attach cookies to other sites' requests, only an
    /// app attaches a Bearer. Throws 401 without any, and 403 unless it is a Bearer or from a page of ours.
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

    /// The live session of the credential, whatever the state of its user. Writes `lastSeenAt` when due.
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

    /// The live session of a token, whatever the state of its user; of this `kind`, if given.
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
        guard let found = try await signedIn(credential) else { throw Failure(.signedOut) }
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
    /// The scheme of an `Authorization`, compared in lower case (RFC 9110 §11.1), and its credentials, after spaces.
    static func authorization(_ value: String) -> (scheme: String, credentials: String?) {
        let parts = value.split(separator: " ", maxSplits: 1)
        return (parts.first?.lowercased() ?? "", parts.count == 2 ? String(parts[1].drop { $0 == " " }) : nil)
    }
}

extension Session {
    /// Seconds for which a sign-in is recent enough for the deletion of an account, on a page or through the API.
    static let recent: Int64 = 600

    /// A sign-in may be ahead of our clock by a minute, while that is corrected; beyond, its age is unknown.
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
