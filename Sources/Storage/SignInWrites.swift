package import Coding
package import Crypto
package import RelyingParty

extension Database: SignInStore {
    package func saveFirstConsent(
        team: TeamID, subject: AppleSubject, name: PersonName, at now: Timestamp
    ) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.saveFirstConsent(FirstConsent(team: team, subject: subject, name: name), at: now)
        }
    }

    package func usedAttempt(_ id: Digest256, at now: Timestamp) async throws(StoreError) -> UsedAttempt? {
        let limits = options.sessionLimits
        return try look { connection in try connection.usedAttempt(id, limits: limits, at: now) }
    }

    package func completeSignIn(_ record: SignInRecord) async throws(StoreError) -> SignInResult {
        let identifiers = identifiers
        let limits = options.sessionLimits
        let subjectHashes = subjectHashes
        return try await commits.write { connection, effects in
            if let used = try connection.usedAttempt(record.attempt, limits: limits, at: record.now) {
                return .alreadyUsed(used)
            }
            let hashes = subjectHashes.all(record.team, record.claims)
            if try connection.hasEnded(record, hashes: hashes) {
                // The name stays. The end may have come just before this consent, in the same second or with an answer
                // that was lost: then the consent stands, and Apple does not send the name again.
                try connection.markUsed(record, refusal: .revoked)
                try connection.audit(.signInRefused, reason: ReasonCode.revoked.rawValue, at: record.now)
                return .revoked
            }
            guard
                let person = try connection.admit(record, identifiers: identifiers, effects: &effects)
            else {
                try connection.markUsed(record, refusal: .closed)
                try connection.audit(.signInRefused, reason: ReasonCode.signUpClosed.rawValue, at: record.now)
                return .closed
            }
            if person.isNew { try connection.cancelRevocations(hashes) }
            switch person.user.state {
            case .pending:
                try connection.refuse(person.user, record, .pending, .userPending)
                return .pending(person.user.id)
            case .disabled:
                try connection.refuse(person.user, record, .disabled, .userDisabled)
                return .disabled(person.user.id)
            case .active:
                let session = try connection.makeSession(
                    record, person: person, identifiers: identifiers, effects: &effects)
                return .signedIn(user: person.user, session: session, isNewUser: person.isNew)
            }
        }
    }
}

/// The user of a sign-in in progress, and the row of the identity they came by.
struct AdmittedPerson {
    var user: User
    var identity: Int64
    var isNew: Bool
}

// The steps of the one transaction.
extension SQLiteConnection {
    fileprivate func usedAttempt(_ id: Digest256, limits: SessionLimits, at now: Timestamp) throws -> UsedAttempt? {
        guard
            let row = try firstRow(
                """
                SELECT a.binding_hash, a.session, s.last_seen_at, s.expires_at, a.refusal FROM used_attempt a
                LEFT JOIN session s ON s.id = a.session WHERE a.attempt = ?
                """, [id])
        else { return nil }
        var isLive = false
        if !row.hasNull(atIndex: 2) {
            let idleEnd = try row.moment(2).adding(seconds: limits.idleTimeout)
            isLive = now < min(try row.moment(3), idleEnd)
        }
        return UsedAttempt(
            bindingHash: try row.digest(0), session: (row[1] as String?).map { SessionID(unchecked: $0) },
            sessionIsLive: isLive, refusal: row.hasNull(atIndex: 4) ? nil : try row.value(4))
    }

    /// Whether Apple has told, since the attempt began, of the end of this person's consent at or after this sign-in's
    /// `iat`: a notification that arrived while the code was being exchanged ended what there was, and must end what
    /// comes of it too. One that arrived earlier is about earlier sign-ins, though `iat` has whole seconds and may tie.
    private func wasRevoked(_ record: SignInRecord) throws -> Bool {
        let names = [record.claims.subject.rawValue] + (try formerSubjects(of: record.claims, team: record.team))
        return try names.contains { name in
            try integer(
                """
                SELECT 1 FROM notification WHERE subject = ? AND event_time >= ? AND received_at >= ?
                AND \(EndQuery.isEnd) LIMIT 1
                """,
                [name, record.claims.issuedAt.milliseconds, record.attemptIssuedAt.milliseconds]) != nil
        }
    }

    /// Whether Apple has ended, or may be ending, what this sign-in brings.
    func hasEnded(_ record: SignInRecord, hashes: [[UInt8]]) throws -> Bool {
        try wasRevoked(record) || isRevocationInFlight(hashes, at: record.now)
            || hasEnded(hashes, issuedAt: record.claims.issuedAt, attemptIssuedAt: record.attemptIssuedAt)
    }

    fileprivate func markUsed(
        _ record: SignInRecord, session: SessionID? = nil, refusal: SignInRefusal? = nil
    ) throws {
        try run(
            "INSERT INTO used_attempt (attempt, binding_hash, session, refusal, expires_at) VALUES (?, ?, ?, ?, ?)",
            [
                record.attempt, record.bindingHash, session?.rawValue, refusal?.rawValue,
                record.attemptExpiresAt.milliseconds,
            ])
    }

    fileprivate func refuse(
        _ user: User, _ record: SignInRecord, _ refusal: SignInRefusal, _ reason: ReasonCode
    ) throws {
        try markUsed(record, refusal: refusal)
        try audit(.signInRefused, user: user.id, reason: reason.rawValue, at: record.now)
    }

    /// Finds or creates the person, with everything this sign-in says of them; nil when sign-up is closed to them.
    func admit(
        _ record: SignInRecord, identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> AdmittedPerson? {
        let key: StatementArguments = [record.team.rawValue, record.claims.subject.rawValue]
        let known = try known(record, identifiers: identifiers, effects: &effects)
        if known == nil, record.policy == .closed {
            // A stranger who is turned away leaves no name behind.
            try forgetFirstConsent(of: record.claims.subject, team: record.team)
            return nil
        }
        let consent = try firstRow(
            "SELECT given_name, family_name FROM first_consent WHERE team = ? AND subject = ?", key
        ).map { PersonName(given: $0[0] as String?, family: $0[1] as String?) }
        if consent != nil { try forgetFirstConsent(of: record.claims.subject, team: record.team) }

        var person: AdmittedPerson
        if let known {
            person = AdmittedPerson(
                user: try User(row: known), identity: known[UserColumns.count] as Int64? ?? 0, isNew: false)
            try keepUser(person.user.id)
            let before = person.user.identityCredential
            var told = try lastTold(of: person.user.id)
            let fields = person.user.absorb(record.claims, firstConsent: consent, told: &told)
            if person.user.identityCredential != before {
                try write(person.user.identityCredential, toIdentity: person.identity)
                effects.invalidations.append(.user(person.user.id))
            }
            try update(
                person, fields: fields, told: told, record: record, identifiers: identifiers, effects: &effects)
        } else {
            let state: User.State = record.policy == .approval ? .pending : .active
            let user = User(
                id: record.newUser, state: state, claims: record.claims, firstConsent: consent, createdAt: record.now)
            person = AdmittedPerson(user: user, identity: try insert(user, record: record), isNew: true)
            try self.record(.userCreated, user: user.id, at: record.now, identifiers: identifiers)
        }
        try storeCredential(record, identity: person.identity)
        return person
    }

    /// The user who has this identity, and the identity's row; moved here first when they come from another team.
    func known(
        _ record: SignInRecord, identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> Row? {
        let key: StatementArguments = [record.team.rawValue, record.claims.subject.rawValue]
        if let row = try firstRow(UserQuery.ofIdentity, key) { return row }
        let move = TransferMove(team: record.team, now: record.now, identifiers: identifiers)
        return try move.welcome(record.claims, on: self, effects: &effects)
            ? try firstRow(UserQuery.ofIdentity, key) : nil
    }

    private func insert(_ user: User, record: SignInRecord) throws -> Int64 {
        let told = LastTold(record.claims)
        try run(
            """
            INSERT INTO user (id, state, given_name, family_name, email, email_verified, email_private,
            real_user_status, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                user.id.rawValue, user.state.rawValue, user.name.given, user.name.family, user.email?.address,
                user.email?.isVerified ?? false, user.email?.isPrivate ?? false, user.realUserStatus?.rawValue,
                record.now.milliseconds, record.now.milliseconds,
            ])
        try run(
            """
            INSERT INTO apple_identity (user, team, subject, transfer_subject, credential_state,
            credential_changed_at, credential_cause, last_sign_in_issued_at, email_told_at, real_user_status_told_at,
            created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                user.id.rawValue, record.team.rawValue, record.claims.subject.rawValue, record.claims.transferSubject,
                user.identityCredential.state.rawValue, user.identityCredential.changedAt?.milliseconds,
                user.identityCredential.cause.rawValue, record.claims.issuedAt.milliseconds,
                told.email?.milliseconds, told.realUserStatus?.milliseconds, record.now.milliseconds,
            ])
        return lastInsertedRowID
    }

    private func update(
        _ person: AdmittedPerson, fields: [String], told: LastTold, record: SignInRecord,
        identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws {
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
                record.claims.transferSubject, record.claims.issuedAt.milliseconds, told.email?.milliseconds,
                told.realUserStatus?.milliseconds, person.identity,
            ])
        guard !fields.isEmpty else { return }
        try write(person.user, at: record.now)
        try self.record(
            .userUpdated, user: person.user.id, fields: fields, at: record.now, identifiers: identifiers)
        effects.invalidations.append(.user(person.user.id))
    }

    /// The refresh token of the latest sign-in by Apple's clock stays.
    private func storeCredential(_ record: SignInRecord, identity: Int64) throws {
        guard let sealed = record.sealedRefreshToken else { return }
        try run(
            """
            INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state, next_check_at)
            VALUES (?, ?, ?, ?, 'authorized', ?)
            ON CONFLICT (identity, client_id) DO UPDATE SET sealed_refresh_token = excluded.sealed_refresh_token,
            issued_at = excluded.issued_at, state = excluded.state, cause = NULL,
            next_check_at = excluded.next_check_at, checked_at = NULL, check_failures = 0, held_back_at = NULL
            WHERE excluded.issued_at >= issued_at OR sealed_refresh_token IS NULL
            """,
            [
                identity, record.claims.clientID.rawValue, sealed, record.claims.issuedAt.milliseconds,
                record.firstCheckAt.milliseconds,
            ])
        try endPause(of: record.claims.clientID, before: record.attemptIssuedAt)
    }

    /// Ends the session the new one replaces, and makes it.
    func makeSession(
        _ record: SignInRecord, person: AdmittedPerson, identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> Session {
        if let replaced = record.replacing {
            try endSessions(
                where: "s.id = ?", [replaced.rawValue], cause: .replaced, at: record.now, identifiers: identifiers,
                effects: &effects)
        }
        let new = record.session
        let session = Session(
            id: new.id, tokenHash: new.tokenHash, kind: new.kind, user: person.user.id,
            clientID: record.claims.clientID, device: new.device, issuedAt: record.claims.issuedAt,
            createdAt: record.now, lastSeenAt: record.now, expiresAt: new.expiresAt)
        try run(
            """
            INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,
            created_at, last_seen_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                session.tokenHash, session.id.rawValue, session.kind.rawValue, session.user.rawValue,
                person.identity, session.clientID.rawValue, session.device.userAgent, session.device.address,
                session.issuedAt.milliseconds, session.createdAt.milliseconds, session.lastSeenAt.milliseconds,
                session.expiresAt.milliseconds,
            ])
        try markUsed(record, session: session.id)
        try self.record(
            .sessionCreated, user: session.user, session: session.id, at: record.now, identifiers: identifiers)
        return session
    }
}
