import Coding
import RelyingParty

/// The columns of a link, in the order `StoredLink.init(row:)` reads them.
enum LinkColumns {
    static let list = """
        l.id, l.style, l.kind, l.state, l.token_hash, l.external_id, l.display_name, l.return_to, l.may_replace, \
        l.nonce, l.created_at, l.expires_at, l.sealed_challenge, l.methods, l.tries, l.request, l.code_hash, \
        l.sealed_identity, l.waiting, l.user, l.session, l.attempts, l.next_attempt_at, l.failure, l.ended_at, \
        l.change, l.taken_from, l.consent_saved_at, l.browser, l.team, l.subject, l.address_hash, l.api_key
        """

    /// What goes when a link ends.
    static let erasure = """
        external_id = NULL, display_name = NULL, sealed_challenge = NULL, methods = '[]', sealed_identity = NULL, \
        team = NULL, subject = NULL, next_attempt_at = NULL, is_asking = 0
        """
}

/// A link, and what its commit changed.
struct StoredLink {
    /// What the commit did to the user.
    enum Change: String {
        /// There was none, and nobody but the link has had to do with them since.
        case made
        /// They got the external ID; or there was none, and they are more than the link's by now.
        case set
        /// They had it.
        case present
    }

    var link: Link
    var change: Change?
    /// Who had the external ID before.
    var takenFrom: UserID?
    /// Of the name the commit took from `first_consent`.
    var consentSavedAt: Timestamp?

    init(row: Row) throws(StoreError) {
        func moment(_ index: Int) -> Timestamp? { (row[index] as Int64?).map { Timestamp(milliseconds: $0) } }
        link = Link(
            key: LinkKey(unchecked: try row.text(0)), style: try row.value(1), kind: try row.value(2),
            state: try row.value(3), tokenHash: try row.digest(4), externalID: row[5] as String?,
            displayName: row[6] as String?, returnTo: row[7] as String?, mayReplace: row[8] as Bool? ?? false,
            nonce: try row.text(9), createdAt: try row.moment(10),
            sealedChallenge: row.hasNull(atIndex: 12) ? nil : try row.bytes(12),
            methods: try StringList.decode(try row.text(13)),
            waiting: (row[18] as String?).map { WaitingID(unchecked: $0) })
        link.expiresAt = try row.moment(11)
        link.tries = Int(row[14] as Int64? ?? 0)
        if !row.hasNull(atIndex: 15) { link.request = try row.digest(15) }
        if !row.hasNull(atIndex: 16) { link.codeHash = try row.digest(16) }
        if !row.hasNull(atIndex: 17) { link.sealedIdentity = try row.bytes(17) }
        link.user = (row[19] as String?).map { UserID(unchecked: $0) }
        link.session = (row[20] as String?).map { SessionID(unchecked: $0) }
        link.attempts = Int(row[21] as Int64? ?? 0)
        link.nextAttemptAt = moment(22)
        link.failure = row[23] as String?
        link.endedAt = moment(24)
        if !row.hasNull(atIndex: 25) { change = try row.value(25) }
        takenFrom = (row[26] as String?).map { UserID(unchecked: $0) }
        consentSavedAt = moment(27)
        if !row.hasNull(atIndex: 28) { link.browser = try row.digest(28) }
        link.team = (row[29] as String?).map { TeamID($0) }
        link.subject = (row[30] as String?).map { AppleSubject($0) }
        if !row.hasNull(atIndex: 31) { link.addressHash = try row.digest(31) }
        link.apiKey = (row[32] as String?).map { APIKeyID(unchecked: $0) }
    }
}

extension SQLiteConnection {
    func storedLink(_ key: LinkKey) throws -> StoredLink? {
        try firstRow("SELECT \(LinkColumns.list) FROM account_link l WHERE l.id = ?", [key.rawValue]).map {
            try StoredLink(row: $0)
        }
    }

    func insert(_ link: Link) throws {
        try run(
            """
            INSERT INTO account_link (id, style, kind, state, token_hash, address_hash, external_id, display_name,
            return_to, may_replace, nonce, created_at, expires_at, sealed_challenge, methods, waiting, api_key)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                link.key.rawValue, link.style.rawValue, link.kind.rawValue, link.state.rawValue, link.tokenHash,
                link.addressHash, link.externalID, link.displayName, link.returnTo, link.mayReplace, link.nonce,
                link.createdAt.milliseconds, link.expiresAt.milliseconds, link.sealedChallenge.map { $0 },
                StringList.encode(link.methods), link.waiting?.rawValue,
                link.apiKey?.rawValue,
            ])
    }

    /// Ends a link: what names a person is erased with it.
    func end(
        _ key: LinkKey, as state: LinkState, failure: String? = nil, session: SessionID? = nil, at now: Timestamp
    ) throws {
        try run(
            """
            UPDATE account_link SET state = ?, failure = ?, session = ?, ended_at = ?, \(LinkColumns.erasure)
            WHERE id = ?
            """, [state.rawValue, failure, session?.rawValue, now.milliseconds, key.rawValue])
    }

    /// A user whom a link has made is not the link's alone any more: to be undone is the external ID, not they.
    func keepUser(_ user: UserID) throws {
        try run(
            "UPDATE account_link SET change = ? WHERE user = ? AND change = ?",
            [StoredLink.Change.set.rawValue, user.rawValue, StoredLink.Change.made.rawValue])
    }

    /// One user became part of another.
    func joinLinks(of second: UserID, to first: UserID) throws {
        try run("UPDATE account_link SET user = ? WHERE user = ?", [first.rawValue, second.rawValue])
        try run(
            "UPDATE account_link SET taken_from = ? WHERE taken_from = ? AND user IS NOT NULL",
            [first.rawValue, second.rawValue])
        try keepUser(first)
    }

    /// Links that wait with this identity, and, where the whole identity ends, the identity whose person is asked. Those
    /// that are committed go with their user.
    func forgetLinks(of subject: AppleSubject, team: TeamID, before end: Timestamp?) throws {
        try run(
            """
            DELETE FROM account_link WHERE team = ?1 AND subject = ?2 AND user IS NULL
            AND (?3 IS NULL OR created_at < ?3)
            """, [team.rawValue, subject.rawValue, end?.milliseconds])
        guard end == nil else { return }
        try run("DELETE FROM waiting_identity WHERE team = ? AND subject = ?", [team.rawValue, subject.rawValue])
    }
}
