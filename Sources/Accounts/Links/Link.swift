package import Coding
package import Crypto
import Storage

/// The ticket of a link, `brt_…`: authorizes the link of an app, or connects a link to a waiting identity.
package struct LinkTicket: SecretToken {
    package static var prefix: String { "brt_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The secret in a link's address, `bra_…`. The link belongs to the first browser that brings it.
package struct LinkAddressToken: SecretToken {
    package static var prefix: String { "bra_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The code with which the application's backend completes a link, `brl_…`.
package struct LinkCode: SecretToken {
    package static var prefix: String { "brl_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// Whether Apple is added to an account, or replaces its password, which the application then drops.
package enum LinkKind: String, Sendable, CaseIterable {
    case link, upgrade
}

/// A link's progress. The first two states expire.
package enum LinkState: String, Sendable, CaseIterable {
    /// Waits for Apple's answer. The nonce is unused.
    case open
    /// A verified identity waits, sealed, for the link to be completed.
    case authorized
    /// The user has the external ID.
    case done
    case failed

    /// An earlier version may write `challenged` and `converting` while it is being replaced.
    fileprivate init(stored text: String) {
        self = LinkState(rawValue: text) ?? (text == "converting" ? .done : .failed)
    }
}

/// A stored attempt to link an Apple identity to an application's account.
package struct Link: Hashable, Sendable {
    /// How long it may take, in seconds, from its creation until its code is redeemed.
    package static let lifetime: Int64 = 600
    /// The longest name of an account, in bytes of UTF-8.
    static let displayNameLimit = 128
    /// Wrong codes at completion; the last one ends the link.
    static let tryLimit = 5

    package var id: LinkID
    package var kind: LinkKind
    package var state: LinkState
    package var ticketHash: Digest256
    /// Of the token in the address.
    package var addressHash: Digest256?
    /// The application's account. Nil after the link has failed.
    package var externalID: String?
    /// The application's name for the account, for the page.
    package var displayName: String?
    /// Where the browser brings the code; a `ReturnTarget.location`, validated again when used.
    package var returnTo: String?
    /// Whether the external ID may be taken from another user.
    package var mayReplace = false
    /// For an app; browsers use the nonce of their attempt.
    package var nonce: String
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var tries = 0
    /// The digest of the request that authorized the link.
    package var request: Digest256?
    package var codeHash: Digest256?
    /// `LinkedIdentity`, while the link is authorized.
    package var sealedIdentity: [UInt8]?
    /// The browser that opened the link first, by its binding.
    package var browser: Digest256?
    /// Of that identity.
    package var team: TeamID?
    package var subject: AppleSubject?
    /// The identity waiting in the browser that asked to connect.
    package var waiting: WaitingID?
    /// The key that began it; only that key may complete it. Nil for links from releases that did not record it.
    package var apiKey: APIKeyID?
    /// Set at `done`.
    package var user: UserID?
    package var failure: String?
    package var endedAt: Timestamp?

    /// Whether the link has expired, by a clock that may have been set back by a minute.
    package func isOver(at now: Timestamp) -> Bool { now >= expiresAt || now.adding(seconds: 60) < createdAt }
}

extension Link {
    fileprivate static let columns = """
        id, kind, state, token_hash, external_id, display_name, return_to, may_replace, nonce, created_at, expires_at, \
        waiting, tries, request, code_hash, sealed_identity, user, failure, ended_at, browser, team, subject, \
        address_hash, api_key
        """

    /// Erases the columns of a failed link that identify a person.
    static let erasure = """
        external_id = NULL, display_name = NULL, sealed_identity = NULL, team = NULL, subject = NULL
        """

    fileprivate init(_ row: Row) throws(StoreError) {
        id = try row["id"]
        kind = try row["kind"]
        state = LinkState(stored: try row["state"])
        ticketHash = try row["token_hash"]
        addressHash = try row["address_hash"]
        externalID = try row["external_id"]
        displayName = try row["display_name"]
        returnTo = try row["return_to"]
        mayReplace = try row["may_replace"]
        nonce = try row["nonce"]
        createdAt = try row["created_at"]
        waiting = try row["waiting"]
        apiKey = try row["api_key"]
        expiresAt = try row["expires_at"]
        tries = try row["tries"]
        request = try row["request"]
        codeHash = try row["code_hash"]
        sealedIdentity = try row["sealed_identity"]
        user = try row["user"]
        failure = try row["failure"]
        endedAt = try row["ended_at"]
        browser = try row["browser"]
        team = try row["team"]
        subject = try row["subject"]
    }

    /// IDs and times, without the account.
    package static let fields: [Field<Link>] = [
        Field("id") { .code($0.id.rawValue) }, Field("kind") { .text($0.kind.rawValue) },
        Field("state") { .text($0.state.rawValue) }, Field("user") { .code($0.user?.rawValue) },
        Field("createdAt") { .time($0.createdAt) }, Field("expiresAt") { .time($0.expiresAt) },
        Field("failure") { .text($0.failure) }, Field("endedAt") { .time($0.endedAt) },
    ]
}

extension Snapshot {
    func storedLink(_ id: LinkID) throws -> Link? {
        try firstRow("SELECT \(Link.columns) FROM account_link WHERE id = ?", [id]).map { try Link($0) }
    }
}

extension Transaction {
    func insert(_ link: Link) throws {
        try run(
            """
            INSERT INTO account_link (id, style, kind, state, token_hash, address_hash, external_id, display_name,
            return_to, may_replace, nonce, created_at, expires_at, waiting, api_key)
            VALUES (?, 'ticket', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                link.id, link.kind, link.state, link.ticketHash, link.addressHash, link.externalID, link.displayName,
                link.returnTo, link.mayReplace, link.nonce, link.createdAt, link.expiresAt, link.waiting, link.apiKey,
            ])
    }

    /// Ends a link that was not completed, and erases the data that identifies a person.
    func failLink(_ id: LinkID, _ failure: String) throws {
        try run(
            "UPDATE account_link SET state = 'failed', failure = ?, ended_at = ?, \(Link.erasure) WHERE id = ?",
            [failure, now, id])
    }

    /// Completes a link. Its account stays until the link is deleted: the application checks it before it drops a password.
    func finishLink(_ id: LinkID, _ kind: LinkKind, user: UserID) throws {
        try run(
            """
            UPDATE account_link SET state = 'done', user = ?, display_name = NULL, sealed_identity = NULL, failure = NULL,
            ended_at = ? WHERE id = ?
            """, [user, now, id])
        try record(kind == .upgrade ? .accountUpgraded : .accountLinked, user: user, link: id)
    }

    /// Completes links that an earlier version had committed but not finished.
    func finishConvertingLinks() throws {
        let links = try rows("SELECT id, kind, user FROM account_link WHERE state = 'converting' AND user IS NOT NULL")
        for link in links { try finishLink(try link["id"], try link["kind"], user: try link["user"]) }
    }

    /// Erases this identity's uncommitted links and, without `end`, its waiting identity. Others end with their user.
    func forgetLinks(of subject: AppleSubject, team: TeamID, before end: Timestamp?) throws {
        try run(
            """
            DELETE FROM account_link WHERE team = ?1 AND subject = ?2 AND user IS NULL
            AND (CAST(?3 AS BIGINT) IS NULL OR created_at < ?3)
            """, [team, subject, end])
        guard end == nil else { return }
        try run("DELETE FROM waiting_identity WHERE team = ? AND subject = ?", [team, subject])
    }
}

extension Database {
    /// At most `limit` links, oldest first, after the named one; of all `states` when empty.
    package func links(
        in states: Set<LinkState>, after place: TimedPlace?, limit: Int
    ) async throws(Failure) -> Page<Link, TimedPlace> {
        try await read { snapshot in
            var wanted = Conditions()
            wanted.add("state", in: states.sorted { $0.rawValue < $1.rawValue })
            if let place { wanted.add("(created_at, id) > (?, ?)", [place.time, place.id]) }
            return try snapshot.page(
                "SELECT \(Link.columns) FROM account_link \(wanted.clause) ORDER BY created_at, id LIMIT ?",
                wanted.arguments, limit: limit, place: { TimedPlace(time: $0.createdAt, id: $0.id.rawValue) }
            ) { try Link($0) }
        }
    }
}

/// Decides how an Apple identity is linked to an application's account.
package enum LinkRule {
    package enum Decision: Hashable, Sendable {
        /// The identity is unknown: create a user with the external ID, which its present owner loses.
        case create(takenFrom: UserID?)
        /// The identity's user gets the external ID.
        case set(UserID, takenFrom: UserID?)
        /// They already have it.
        case present(UserID)
        case refused(ReasonCode)
    }

    /// For the `holder` of the identity and the `owner` of the external ID, which may be taken from them if
    /// `mayReplace`.
    package static func decide(holder: User?, owner: UserID?, externalID: String, mayReplace: Bool) -> Decision {
        if let holder {
            if let refusal = holder.state.refusal { return .refused(refusal.code) }
            if let present = holder.externalID, !present.isExactly(externalID) {
                return .refused(.identityLinkedElsewhere)
            }
        }
        if let holder, holder.externalID != nil { return .present(holder.id) }
        if owner != nil, !mayReplace { return .refused(.accountAlreadyLinked) }
        guard let holder else { return .create(takenFrom: owner) }
        return .set(holder.id, takenFrom: owner)
    }

    /// Why a completed link's account cannot sign in with Apple: applications check it before they drop a password.
    /// `hasIdentity`: the user has the link's identity, or the one it became in a transfer.
    package static func obstacle(to link: Link, user: User, hasIdentity: Bool) -> ReasonCode? {
        // Links of earlier versions did not keep it.
        if let ours = link.externalID, user.externalID.map({ !$0.isExactly(ours) }) ?? true { return .linkEnded }
        if let refusal = user.state.refusal { return refusal.code }
        switch user.credential.state {
        case .authorized: return hasIdentity ? nil : .linkEnded
        case .revoked: return .revoked
        case .notFound, .transferred: return .linkEnded
        }
    }
}
