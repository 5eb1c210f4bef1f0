package import Coding
package import Crypto
import Storage

extension Database {
    /// Stores the name given at first consent, replacing an earlier one. Rows expire after 30 days.
    package func saveFirstConsent(_ consent: FirstConsent, at now: Timestamp) async throws(Failure) {
        try await write(at: now) { transaction in try transaction.saveFirstConsent(consent) }
    }

    /// Nil when the attempt was never used.
    package func usedAttempt(_ id: Digest256, at now: Timestamp) async throws(Failure) -> UsedAttempt? {
        try await lookUp(at: now) { snapshot in try snapshot.usedAttempt(id) }
    }

    /// The one transaction of a sign-in: marks the attempt used, creates or updates the user, moves the name from
    /// `first_consent` into an empty column, stores the sealed refresh token, ends the session it replaces, creates the
    /// new one and writes the events. Applies `SignUpPolicy` to new people.
    package func completeSignIn(_ record: SignInRecord) async throws(Failure) -> SignInResult {
        try await write(at: record.now) { transaction in try transaction.completeSignIn(record) }
    }
}

extension Snapshot {
    fileprivate func usedAttempt(_ id: Digest256) throws -> UsedAttempt? {
        let row = try firstRow(
            """
            SELECT a.binding_hash, a.session, s.created_at, s.last_seen_at, s.expires_at, a.refusal FROM used_attempt a
            LEFT JOIN session s ON s.id = a.session WHERE a.attempt = ?
            """, [id])
        guard let row else { return nil }
        var isLive = false
        if let lastSeenAt: Timestamp = try row["last_seen_at"] {
            isLive = now < context.sessionLimits.end(lastSeenAt: lastSeenAt, expiresAt: try row["expires_at"])
        }
        return UsedAttempt(
            bindingHash: try row["binding_hash"], session: try row["session"], sessionBegan: try row["created_at"],
            sessionIsLive: isLive, refusal: try row["refusal"])
    }

    /// Whether Apple has reported, since the attempt began, the end of this person's consent at or after this sign-in's
    /// `iat`: a notification that arrived during the code exchange must end its result too. One that arrived earlier
    /// concerns earlier sign-ins, though `iat` has whole seconds and may tie.
    private func wasRevoked(_ record: SignInRecord) throws -> Bool {
        let names = [record.claims.subject] + (try formerSubjects(of: record.claims, team: record.team))
        return try names.contains { name in
            try exists(
                """
                SELECT 1 FROM notification WHERE subject = ? AND event_time >= ? AND received_at >= ?
                AND \(AppleNotification.isEnd) LIMIT 1
                """, [name, record.claims.issuedAt, record.attempt.issuedAt])
        }
    }

    /// Whether Apple has ended, or may be ending, this sign-in's authorization.
    func hasEnded(_ record: SignInRecord) throws -> Bool {
        let hashes = context.subjectHashes.all(record.team, record.claims)
        return try wasRevoked(record) || isRevocationInFlight(hashes)
            || hasEnded(hashes, issuedAt: record.claims.issuedAt, attemptIssuedAt: record.attempt.issuedAt)
    }
}

// The steps of the one transaction.
extension Transaction {
    func completeSignIn(_ record: SignInRecord) throws -> SignInResult {
        claim(.attempt(record.attempt.id), .subject(record.claims.subject))
        if let name = record.claims.transferSubject { claim(.transfer(TransferSubject(name))) }
        if let replaced = record.attempt.replacing { claim(.session(replaced)) }
        if record.kind == .browser { claim(.browser(record.attempt.bindingHash)) }
        if let used = try usedAttempt(record.attempt.id) { return .alreadyUsed(used) }
        if try hasEnded(record) {
            // The name stays: if the end came just before this consent, Apple does not send the name again.
            return try refuse(nil, record, .revoked)
        }
        guard let person = try admit(record) else { return try refuse(nil, record, .closed) }
        if person.isNew { try cancelRevocations(context.subjectHashes.all(record.team, record.claims)) }
        let user = person.user
        if let refusal = user.state.refusal { return try refuse(user.id, record, refusal) }
        return .signedIn(user: user, session: try makeSession(record, person: person), isNewUser: person.isNew)
    }

    private func markUsed(_ record: SignInRecord, session: SessionID? = nil, refusal: SignInRefusal? = nil) throws {
        try run(
            "INSERT INTO used_attempt (attempt, binding_hash, session, refusal, expires_at) VALUES (?, ?, ?, ?, ?)",
            [record.attempt.id, record.attempt.bindingHash, session, refusal, record.attemptExpiresAt])
    }

    private func refuse(_ user: UserID?, _ record: SignInRecord, _ refusal: SignInRefusal) throws -> SignInResult {
        try markUsed(record, refusal: refusal)
        try audit(.signInRefused, user: user, reason: refusal.code.rawValue)
        return .refused(refusal, user)
    }

    /// Finds or creates the person, and applies what this sign-in says about them; nil when sign-up is closed to them.
    /// - Parameter externalID: of a person who is created.
    func admit(_ record: SignInRecord, externalID: String? = nil) throws -> Person? {
        let known = try knownPerson(record)
        if known == nil, record.policy == .closed {
            // A new person who is refused leaves no name behind.
            try forgetFirstConsent(of: record.claims.subject, team: record.team)
            return nil
        }
        let consent = try firstRow(
            "SELECT given_name, family_name FROM first_consent WHERE team = ? AND subject = ?",
            [record.team, record.claims.subject]
        ).map { PersonName(given: try $0["given_name"], family: try $0["family_name"]) }
        if consent != nil { try forgetFirstConsent(of: record.claims.subject, team: record.team) }

        if let known { claim(.user(known.user.id)) }
        let person = try known.map { try update($0, record, consent) } ?? insert(record, consent, externalID)
        try storeCredential(record, identity: person.identity)
        return person
    }

    /// The user with this identity; moved here first if they come from another team.
    func knownPerson(_ record: SignInRecord) throws -> Person? {
        if let person = try person(team: record.team, subject: record.claims.subject) { return person }
        return try welcome(record.claims, to: record.team)
            ? try person(team: record.team, subject: record.claims.subject) : nil
    }

    private func insert(_ record: SignInRecord, _ consent: PersonName?, _ externalID: String?) throws -> Person {
        let state: User.State = record.policy == .approval ? .pending : .active
        var user = User(id: record.newUser, state: state, claims: record.claims, firstConsent: consent, createdAt: now)
        user.externalID = externalID
        try insert(user)
        let identity = try insertIdentity(
            of: user, team: record.team, transferSubject: record.claims.transferSubject,
            lastSignIn: record.claims.issuedAt, LastReports(record.claims))
        try self.record(.userCreated, user: user.id)
        if state == .pending { try self.record(.userPending, user: user.id) }
        return Person(user: user, identity: identity, isNew: true)
    }

    private func update(_ known: Person, _ record: SignInRecord, _ consent: PersonName?) throws -> Person {
        var person = known
        var reports = try lastReports(of: person.user.id)
        let fields = person.user.absorb(record.claims, firstConsent: consent, reports: &reports)
        if person.user.identityCredential != known.user.identityCredential {
            try update(person.user.identityCredential, ofIdentity: person.identity)
            invalidate(.user(person.user.id))
        }
        try run(
            """
            UPDATE apple_identity SET transfer_subject =
            CASE WHEN transfer_target IS NOT NULL THEN transfer_subject
            WHEN ?2 >= last_sign_in_issued_at THEN coalesce(?1, transfer_subject)
            ELSE coalesce(transfer_subject, ?1) END,
            last_sign_in_issued_at = max(last_sign_in_issued_at, ?2), email_told_at = ?3,
            real_user_status_told_at = ?4 WHERE id = ?5
            """,
            [
                record.claims.transferSubject, record.claims.issuedAt, reports.email, reports.realUserStatus,
                person.identity,
            ])
        if !fields.isEmpty {
            try update(person.user)
            try self.record(.userUpdated, user: person.user.id, fields: fields)
            invalidate(.user(person.user.id))
            if fields.contains("organizationID") { try endLeftClients(person.user) }
        }
        return person
    }

    /// Keeps the refresh token of the latest sign-in by Apple's clock.
    private func storeCredential(_ record: SignInRecord, identity: Int64) throws {
        guard let sealed = record.sealedRefreshToken else { return }
        try run(
            """
            INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state, next_check_at)
            VALUES (?, ?, ?, ?, 'authorized', ?)
            ON CONFLICT (identity, client_id) DO UPDATE SET sealed_refresh_token = excluded.sealed_refresh_token,
            issued_at = excluded.issued_at, state = excluded.state, cause = NULL,
            next_check_at = excluded.next_check_at, checked_at = NULL, check_failures = 0, held_back_at = NULL
            WHERE excluded.issued_at >= apple_credential.issued_at OR apple_credential.sealed_refresh_token IS NULL
            """, [identity, record.claims.clientID, sealed, record.claims.issuedAt, record.firstCheckAt])
        try endPause(of: record.claims.clientID, before: record.attempt.issuedAt)
    }

    /// Renews the session that the person has in this browser, or creates one; ends another person's.
    func makeSession(_ record: SignInRecord, person: Person) throws -> Session {
        let kept = try predecessor(of: record, user: person.user.id)
        let surplus = person.isNew || kept != nil ? [] : try surplusSessions(of: person.user.id)
        let id = kept?.id ?? record.session
        let shared = kept.flatMap { record.sharesToken(of: $0) ? $0 : nil }
        let session = Session(
            id: id, tokenHash: shared?.tokenHash ?? record.token.hash(of: id, since: now), kind: record.kind,
            user: person.user.id, clientID: record.claims.clientID, device: record.device,
            issuedAt: record.claims.issuedAt, createdAt: shared?.createdAt ?? now, lastSeenAt: now,
            expiresAt: record.sessionExpiresAt)
        if let kept {
            try run("DELETE FROM session WHERE token_hash = ?", [kept.tokenHash])
            invalidate(.token(kept.tokenHash))
        }
        try run(
            """
            INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,
            created_at, last_seen_at, expires_at, examine_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                session.tokenHash, session.id, session.kind, session.user, person.identity, session.clientID,
                session.device.userAgent, session.device.address, session.issuedAt, session.createdAt,
                session.lastSeenAt, session.expiresAt,
                examination(ofSessionEnding: context.sessionLimits.end(of: session)),
            ])
        try markUsed(record, session: session.id)
        try self.record(.sessionCreated, user: session.user, session: session.id, cause: kept == nil ? nil : .replaced)
        for row in surplus { try endSession(row, cause: .replaced) }
        return session
    }

    /// The same person's session in this browser, from before the attempt or of another window, which continues under a
    /// new token and keeps its `sid`. Other people's sessions in this browser end.
    private func predecessor(of record: SignInRecord, user: UserID) throws -> Session? {
        guard record.kind == .browser else { return nil }
        let sessions = try rows(
            """
            SELECT \(Session.columns) FROM session s WHERE s.id IN (SELECT CAST(?1 AS TEXT)
            UNION SELECT session FROM used_attempt WHERE binding_hash = ?2 AND session IS NOT NULL)
            ORDER BY s.created_at DESC, s.id DESC
            """, [record.attempt.replacing, record.attempt.bindingHash]
        ).map { try Session($0) }
        let kept = sessions.first { $0.user == user && now < context.sessionLimits.end(of: $0) }
        if let kept { claim(.session(kept.id)) }
        for session in sessions where session.id != kept?.id {
            try endSession(session.id, token: session.tokenHash, of: session.user, cause: .replaced)
        }
        return kept
    }
}
