package import Coding
package import Crypto

/// How a session presents its token: a browser only by cookie, an app only as Bearer.
package enum SessionKind: String, Sendable, CaseIterable {
    case browser, native
}

/// Where a session was made, as shown to its owner.
package struct Device: Hashable, Sendable {
    /// The `User-Agent` field, at most 256 bytes of printable text.
    package var userAgent: String
    /// The client's address after trusted proxies, as text.
    package var address: String

    package init(userAgent: String, address: String) {
        self.userAgent = userAgent
        self.address = address
    }
}

/// One signed-in browser or app.
package struct Session: Hashable, Sendable {
    package var id: SessionID
    package var tokenHash: Digest256
    package var kind: SessionKind
    package var user: UserID
    package var clientID: ClientID
    package var device: Device
    /// `iat` of the identity token of the sign-in that made it: Apple's clock, what notifications compare with.
    package var issuedAt: Timestamp
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    /// The absolute end. The idle limit is computed from `lastSeenAt`.
    package var expiresAt: Timestamp

    package init(
        id: SessionID, tokenHash: Digest256, kind: SessionKind, user: UserID, clientID: ClientID, device: Device,
        issuedAt: Timestamp, createdAt: Timestamp, lastSeenAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.tokenHash = tokenHash
        self.kind = kind
        self.user = user
        self.clientID = clientID
        self.device = device
        self.issuedAt = issuedAt
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
        self.expiresAt = expiresAt
    }
}

/// What a request is allowed to know of its session: read together, in one look-up.
package struct SignedIn: Hashable, Sendable {
    package var session: Session
    package var user: User

    package init(session: Session, user: User) {
        self.session = session
        self.user = user
    }
}

/// `sessions.lifetime` and `sessions.idleTimeout`, in seconds.
package struct SessionLimits: Hashable, Sendable {
    package var lifetime: Int64
    package var idleTimeout: Int64

    package init(lifetime: Int64, idleTimeout: Int64) {
        self.lifetime = lifetime
        self.idleTimeout = idleTimeout
    }

    /// How old `lastSeenAt` may become while a session is used, in milliseconds: a minute, and with a short idle limit
    /// a quarter of that, since a session seen less often than it may be idle would end in use.
    package var touchInterval: Int64 {
        min(60_000, max(1, Timestamp(seconds: idleTimeout).milliseconds / 4))
    }

    /// The moment after which this session is refused: the absolute end or the idle end, whichever is sooner.
    package func end(of session: Session) -> Timestamp {
        min(session.expiresAt, session.lastSeenAt.adding(seconds: idleTimeout))
    }
}
