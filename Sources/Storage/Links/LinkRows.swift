import Coding
import RelyingParty

enum LinkColumns {
    static let list = """
        id, style, kind, state, token_hash, external_id, display_name, return_to, may_replace, nonce, created_at, \
        expires_at, sealed_challenge, methods, waiting, tries, request, code_hash, sealed_identity, user, session, \
        attempts, next_attempt_at, failure, ended_at, browser, team, subject, address_hash, api_key, change, \
        taken_from, consent_saved_at
        """

    /// What is erased when a link ends.
    static let erasure = """
        external_id = NULL, display_name = NULL, sealed_challenge = NULL, methods = '[]', sealed_identity = NULL, \
        team = NULL, subject = NULL, next_attempt_at = NULL, is_asking = 0
        """
}

/// A link, and what its commit changed.
struct StoredLink {
    /// What the commit did to the user.
    enum Change: String, TextColumn {
        /// The link created them, and so far nobody but the link has dealt with them.
        case made
        /// They got the external ID; or the link created them, and others have dealt with them since.
        case set
        /// They already had it.
        case present
    }

    var link: Link
    var change: Change?
    /// The user who had the external ID before.
    var takenFrom: UserID?
    /// When the name was saved that the commit took from `first_consent`.
    var consentSavedAt: Timestamp?

    init(_ row: Row) throws(StoreError) {
        let methods: TextList = try row["methods"]
        link = Link(
            key: try row["id"], style: try row["style"], kind: try row["kind"], state: try row["state"],
            tokenHash: try row["token_hash"], externalID: try row["external_id"],
            displayName: try row["display_name"], returnTo: try row["return_to"], mayReplace: try row["may_replace"],
            nonce: try row["nonce"], createdAt: try row["created_at"],
            sealedChallenge: try row["sealed_challenge"], methods: methods.items, waiting: try row["waiting"])
        link.expiresAt = try row["expires_at"]
        link.tries = try row["tries"]
        link.request = try row["request"]
        link.codeHash = try row["code_hash"]
        link.sealedIdentity = try row["sealed_identity"]
        link.user = try row["user"]
        link.session = try row["session"]
        link.attempts = try row["attempts"]
        link.nextAttemptAt = try row["next_attempt_at"]
        link.failure = try row["failure"]
        link.endedAt = try row["ended_at"]
        link.browser = try row["browser"]
        link.team = try row["team"]
        link.subject = try row["subject"]
        link.addressHash = try row["address_hash"]
        link.apiKey = try row["api_key"]
        change = try row["change"]
        takenFrom = try row["taken_from"]
        consentSavedAt = try row["consent_saved_at"]
    }
}

extension Snapshot {
    func storedLink(_ key: LinkKey) throws -> StoredLink? {
        try firstRow("SELECT \(LinkColumns.list) FROM account_link WHERE id = ?", [key]).map { try StoredLink($0) }
    }
}

extension Transaction {
    func insert(_ link: Link) throws {
        try run(
            """
            INSERT INTO account_link (id, style, kind, state, token_hash, address_hash, external_id, display_name,
            return_to, may_replace, nonce, created_at, expires_at, sealed_challenge, methods, waiting, api_key)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                link.key, link.style, link.kind, link.state, link.tokenHash,
                link.addressHash, link.externalID, link.displayName, link.returnTo, link.mayReplace, link.nonce,
                link.createdAt, link.expiresAt, link.sealedChallenge,
                TextList(link.methods), link.waiting,
                link.apiKey,
            ])
    }

    /// Ends a link, and erases what names a person in it.
    func end(_ key: LinkKey, as state: LinkState, failure: String? = nil, session: SessionID? = nil) throws {
        try run(
            """
            UPDATE account_link SET state = ?, failure = ?, session = ?, ended_at = ?, \(LinkColumns.erasure)
            WHERE id = ?
            """, [state, failure, session, now, key])
    }

    /// A user created by a link now matters to others: undoing the link removes the external ID, not the user.
    func keepUser(_ user: UserID) throws {
        try run(
            "UPDATE account_link SET change = ? WHERE user = ? AND change = ?",
            [StoredLink.Change.set, user, StoredLink.Change.made])
    }

    /// One user was merged into another.
    func joinLinks(of second: UserID, to first: UserID) throws {
        try run("UPDATE account_link SET user = ? WHERE user = ?", [first, second])
        try run(
            "UPDATE account_link SET taken_from = ? WHERE taken_from = ? AND user IS NOT NULL",
            [first, second])
        try keepUser(first)
    }

    /// Erases links that wait with this identity and, when the whole identity ends, its waiting identity. Committed
    /// links end with their user.
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
