package import Coding
package import Crypto

/// How a session presents its token: browsers only by cookie, apps only as Bearer.
package enum SessionKind: String, Sendable, CaseIterable {
    case browser, native
}

/// Where a session was created, as shown to its owner.
package struct Device: Hashable, Sendable {
    /// The `User-Agent` field, at most 256 bytes of printable text.
    package var userAgent: String
    /// The client's address, as seen through trusted proxies.
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
    /// `iat` of the identity token of the sign-in that created it, by Apple's clock; notifications compare with it.
    package var issuedAt: Timestamp
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    /// The absolute end. The idle end is computed from `lastSeenAt`.
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

/// A session and its user, read together in one look-up.
package struct SignedIn: Hashable, Sendable {
    package var session: Session
    package var user: User

    package init(session: Session, user: User) {
        self.session = session
        self.user = user
    }
}

/// `sessions.lifetime` and `sessions.idleTimeout`, in seconds, and `sessions.perUser`.
package struct SessionLimits: Hashable, Sendable {
    package var lifetime: Int64 = 2_592_000
    package var idleTimeout: Int64 = 1_209_600
    /// How many sessions one person may have; the oldest end when one more begins.
    package var perUser = 100

    package init() {}

    /// With the default of `perUser`.
    package init(lifetime: Int64, idleTimeout: Int64) {
        self.lifetime = lifetime
        self.idleTimeout = idleTimeout
    }

    /// How old `lastSeenAt` may become while a session is used, in milliseconds: a minute, or a quarter of a short idle
    /// limit, because a session touched less often than its idle limit would end while in use.
    package var touchInterval: Int64 { min(60_000, max(1, Timestamp(seconds: idleTimeout).milliseconds / 4)) }

    /// When this session ends: the absolute end or the idle end, whichever is earlier.
    package func end(of session: Session) -> Timestamp {
        end(lastSeenAt: session.lastSeenAt, expiresAt: session.expiresAt)
    }

    package func end(lastSeenAt: Timestamp, expiresAt: Timestamp) -> Timestamp {
        min(expiresAt, lastSeenAt.adding(seconds: idleTimeout))
    }
}
