package import Coding
import Crypto
import Storage

extension Grant.ID: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let bytes = [UInt8](column) else { return nil }
        self.init(bytes: bytes)
    }

    var column: ColumnValue { .blob(bytes) }
}

extension HeldGrant {
    private static let columns = Accounts.columns(
        "g.id", "g.client", "g.user", "g.session", "g.redirect_uri", "g.scopes", "g.nonce", "g.challenge",
        "g.authenticated_at", "g.code_hash", "g.code_expires_at", "g.is_code_used", "g.access_hash",
        "g.access_expires_at", "g.access_scopes", "g.former_access_hash", "g.former_access_expires_at",
        "g.former_access_scopes", "g.services", "g.access_service", "g.former_access_service", "g.refresh_hash",
        "g.former_refresh_hash", "g.refreshed_at", "g.expires_at")

    fileprivate static let byID = """
        SELECT \(columns), u.updated_at AS "u.updated_at", s.last_seen_at AS "s.last_seen_at", \
        s.expires_at AS "s.expires_at", c.scopes AS "c.scopes", c.groups AS "c.groups", \
        c.document AS "c.document", \(User.columns) \
        FROM openid_grant g JOIN user u ON u.id = g.user JOIN openid_client c ON c.id = g.client \
        JOIN apple_identity i ON i.user = u.id AND i.id = (\(User.firstIdentity)) \
        LEFT JOIN session s ON s.id = g.session WHERE g.id = ?
        """

    /// - Parameter limits: of sessions.
    fileprivate init(_ row: Row, _ limits: SessionLimits, at now: Timestamp) throws(StoreError) {
        var grant = Grant(
            id: try row["g.id"], client: try row["g.client"], user: try row["g.user"], session: try row["g.session"],
            redirectURI: try row["g.redirect_uri"], scopes: try row.scopes("g.scopes"),
            nonce: try row["g.nonce"], challenge: try row["g.challenge"],
            authenticatedAt: try row["g.authenticated_at"],
            code: Grant.Token(hash: try row["g.code_hash"], expiresAt: try row["g.code_expires_at"]),
            isCodeUsed: try row["g.is_code_used"], expiresAt: try row["g.expires_at"])
        let services: TextList? = try row["g.services"]
        grant.services = services?.items ?? []
        grant.access = try Self.access(row, "access", grant.scopes)
        grant.formerAccess = try Self.access(row, "former_access", grant.scopes)
        if let hash: Digest256 = try row["g.refresh_hash"] {
            grant.refresh = Grant.Refresh(
                hash: hash, former: try row["g.former_refresh_hash"], usedAt: try row["g.refreshed_at"])
        }
        var end: Timestamp?
        if let lastSeenAt: Timestamp = try row["s.last_seen_at"] {
            end = limits.end(lastSeenAt: lastSeenAt, expiresAt: try row["s.expires_at"])
        }
        self.init(
            grant: grant, user: try User(row), userUpdatedAt: try row["u.updated_at"],
            sessionEnd: end.flatMap { now < $0 ? $0 : nil },
            clientScopes: try row.scopes("c.scopes"), clientGroups: try row.texts("c.groups"),
            clientDocument: try row["c.document"])
    }

    /// - Parameter scopes: of the grant, where the token has no others.
    private static func access(
        _ row: Row, _ name: String, _ scopes: [OpenIDScope]
    ) throws(StoreError) -> Grant.Access? {
        guard let hash: Digest256 = try row["g.\(name)_hash"],
            let end: Timestamp = try row["g.\(name)_expires_at"]
        else { return nil }
        let own: TextList? = try row["g.\(name)_scopes"]
        return Grant.Access(
            hash: hash, expiresAt: end, scopes: own?.items.compactMap { OpenIDScope(rawValue: $0) } ?? scopes,
            service: try row["g.\(name)_service"])
    }
}

extension Snapshot {
    fileprivate func grant(_ id: Grant.ID) throws -> HeldGrant? {
        guard let row = try firstRow(HeldGrant.byID, [id]) else { return nil }
        var held = try HeldGrant(row, context.sessionLimits, at: now)
        held.services = try held.grant.services.compactMap { try service(at: $0) }
        guard held.grant.services.count > 1 else { return held }
        // Scopes are of the whole grant: a service may have got one later that was allowed at another. For an own
        // application, nothing is stored.
        let allowed = try consents(of: held.user.id).filter { $0.client == held.grant.client }
        for index in held.services.indices where !allowed.isEmpty {
            let here = allowed.first { $0.service.isExactly(held.services[index].uri) }?.scopes ?? []
            held.services[index].scopes.removeAll { !here.contains($0.scope) }
        }
        return held
    }
}

extension Transaction {
    fileprivate func insert(_ grant: Grant) throws {
        try run(
            """
            INSERT INTO openid_grant (id, client, user, session, redirect_uri, scopes, nonce, challenge,
            authenticated_at, code_hash, code_expires_at, expires_at, services)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                grant.id, grant.client, grant.user, grant.session, grant.redirectURI,
                TextList(grant.scopes), grant.nonce, grant.challenge, grant.authenticatedAt,
                grant.code.hash, grant.code.expiresAt, grant.expiresAt,
                grant.services.isEmpty ? nil : TextList(grant.services),
            ])
    }

    /// Stores a grant, and its client as a participant of the session.
    ///
    /// - Parameters:
    ///   - client: stored too, if it is known by a document.
    ///   - scopes: for a third-party application, what the person must have allowed, by service.
    ///   - isAllowed: whether the person allows it now, which is stored.
    func save(
        _ grant: Grant, of client: OpenIDClient?, needing scopes: [String: [OpenIDScope]], isAllowed: Bool
    ) throws -> GrantOutcome {
        // Not without consent for a client that has just been registered as a third-party application.
        let isOpen = try exists(
            """
            SELECT 1 FROM session WHERE id = ?
            AND NOT EXISTS (SELECT 1 FROM openid_client WHERE id = ? AND (needs_consent = 1 OR document IS NOT NULL))
            """, [grant.session, scopes.isEmpty ? grant.client.rawValue : ""])
        guard isOpen else { return .sessionEnded }
        let name = client?.clientID ?? grant.client.rawValue
        guard try isConsented(scopes, of: grant.user, to: grant.client, named: name, isAllowed: isAllowed) else {
            return .notAllowed
        }
        if let client, client.document != nil { try saveDocumentClient(client) }
        try insert(grant)
        try recordParticipant(grant.client, in: grant.session)
        return .saved
    }

    /// Writes the columns that can change.
    fileprivate func update(_ grant: Grant) throws {
        try run(
            """
            UPDATE openid_grant SET is_code_used = ?, access_hash = ?, access_expires_at = ?, access_scopes = ?,
            former_access_hash = ?, former_access_expires_at = ?, former_access_scopes = ?, access_service = ?,
            former_access_service = ?, refresh_hash = ?, former_refresh_hash = ?, refreshed_at = ?, expires_at = ? WHERE id = ?
            """,
            [
                grant.isCodeUsed, grant.access?.hash, grant.access?.expiresAt, Self.scopes(of: grant.access),
                grant.formerAccess?.hash, grant.formerAccess?.expiresAt, Self.scopes(of: grant.formerAccess),
                grant.access?.service, grant.formerAccess?.service,
                grant.refresh?.hash, grant.refresh?.former, grant.refresh?.usedAt, grant.expiresAt, grant.id,
            ])
    }

    private static func scopes(of access: Grant.Access?) -> TextList? { access.map { TextList($0.scopes) } }

    /// Ends a session's grants, except those with a refresh token.
    func endGrants(ofSession session: SessionID) throws {
        try run("DELETE FROM openid_grant WHERE session = ? AND refresh_hash IS NULL", [session])
    }

    /// Ends grants of clients whose groups `user`, as written with its journal entry, has left, and notifies them.
    func endLeftClients(_ user: User) throws {
        for id in try clients(of: user.id) {
            guard let client = try openIDClient(id), !OpenIDClient.admits(client.groups, groups: user.memberships)
            else { continue }
            try endGrants(of: user.id, at: id)
            try queueLogout(of: id)
        }
    }

    /// The clients that hold something of a person, or may without asking, or whose grants have expired while the person
    /// is signed in there.
    func clients(of user: UserID) throws -> [OpenIDClientID] {
        try rows(
            """
            SELECT client FROM openid_grant WHERE user = ?1 UNION SELECT client FROM openid_consent WHERE user = ?1 UNION
            SELECT p.client FROM openid_participant p JOIN session s ON s.id = p.session WHERE s.user = ?1
            ORDER BY client
            """, [user]
        ).map { try $0["client"] }
    }

    /// Ends everything that a client holds of a person, in every session, and forgets the person's consent.
    func endGrants(of user: UserID, at client: OpenIDClientID) throws {
        try run("DELETE FROM openid_consent WHERE user = ? AND client = ?", [user, client])
        try run("DELETE FROM openid_grant WHERE user = ? AND client = ?", [user, client])
        try run(
            "DELETE FROM openid_participant WHERE client = ? AND session IN (SELECT id FROM session WHERE user = ?)",
            [client, user])
    }

    /// Ends a person's grants of sessions that have ended, refresh tokens included: the person may no longer sign in.
    /// Without a session, every consent is forgotten too.
    func endGrants(of user: UserID) throws {
        try run(
            "DELETE FROM openid_grant WHERE user = ?1 AND session NOT IN (SELECT id FROM session WHERE user = ?1)",
            [user])
        try run(
            "DELETE FROM openid_consent WHERE user = ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE user = ?1)", [user])
    }

    /// The same when Apple has ended the person's consent up to `time`, their sessions until then have ended, and they
    /// have signed in since: what they allowed until then is forgotten, and what was given for it ends. Another Apple
    /// Account of theirs, with a session of before, keeps it.
    func endGrants(of user: UserID, upTo time: Timestamp) throws {
        try run(
            """
            DELETE FROM openid_grant WHERE user = ?1
            AND (authenticated_at <= ?2
            OR client IN (SELECT client FROM openid_consent WHERE user = ?1 AND given_at <= ?2))
            AND session NOT IN (SELECT id FROM session WHERE user = ?1 AND issued_at <= ?2)
            """, [user, time])
        try run(
            """
            DELETE FROM openid_consent WHERE user = ?1 AND given_at <= ?2
            AND NOT EXISTS (SELECT 1 FROM session WHERE user = ?1 AND issued_at <= ?2)
            """, [user, time])
    }
}

extension Database {
    /// `Transaction.save`.
    package func saveGrant(
        _ grant: Grant, of client: OpenIDClient? = nil, needing scopes: [String: [OpenIDScope]] = [:],
        isAllowed: Bool = false, at now: Timestamp
    ) async throws(Failure) -> GrantOutcome {
        try await write(at: now) { transaction in
            transaction.claim(.session(grant.session))
            if !scopes.isEmpty { transaction.claim(.user(grant.user), .client(grant.client)) }
            return try transaction.save(grant, of: client, needing: scopes, isAllowed: isAllowed)
        }
    }

    package func grant(_ id: Grant.ID, at now: Timestamp) async throws(Failure) -> HeldGrant? {
        try await read(at: now) { snapshot in try snapshot.grant(id) }
    }

    /// One transaction: reads the grant, and applies the `GrantChange` that `change` returns. `change` may run twice,
    /// so it must have no effects.
    @discardableResult
    package func changeGrant<Answer: Sendable>(
        _ id: Grant.ID, at now: Timestamp, _ change: @escaping @Sendable (HeldGrant?) -> (GrantChange, Answer)
    ) async throws(Failure) -> Answer {
        try await write(at: now) { transaction in
            transaction.claim(.grant(id))
            let held = try transaction.grant(id)
            if let held { transaction.claim(.session(held.grant.session), .user(held.user.id)) }
            let (what, answer) = change(held)
            switch what {
            case .keep: break
            case .replace(let grant): try transaction.update(grant)
            case .end: try transaction.run("DELETE FROM openid_grant WHERE id = ?", [id])
            }
            return answer
        }
    }
}
