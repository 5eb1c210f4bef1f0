package import Coding
package import Crypto
package import RelyingParty
import Synchronization

extension MemoryStore: SignInStore {
    package var isShared: Bool { false }

    package func saveFirstConsent(
        team: TeamID, subject: AppleSubject, name: PersonName, at now: Timestamp
    ) async throws(StoreError) {
        try write { state, _ in
            state.firstConsents[IdentityKey(team: team, subject: subject)] = name
        }
    }

    package func requireWrites(at now: Timestamp) async throws(StoreError) {
        if let refusal = try read({ $0.writeRefusal }) { throw refusal }
    }

    package func usedAttempt(_ id: Digest256, at now: Timestamp) async throws(StoreError) -> UsedAttempt? {
        try read { state in used(id, at: now, in: state) }
    }

    private func used(_ id: Digest256, at now: Timestamp, in state: State) -> UsedAttempt? {
        guard let used = state.usedAttempts[id] else { return nil }
        let session = state.sessions.values.first { $0.id == used.session }
        return UsedAttempt(
            bindingHash: used.bindingHash, session: used.session, sessionBegan: session?.createdAt,
            sessionIsLive: session.map { isLive($0, at: now) } ?? false, refusal: used.refusal)
    }

    package func completeSignIn(_ record: SignInRecord) async throws(StoreError) -> SignInResult {
        try write { state, effects in
            if let used = used(record.attempt, at: record.now, in: state) { return .alreadyUsed(used) }
            func refuse(_ refusal: SignInRefusal, _ result: SignInResult) -> SignInResult {
                state.usedAttempts[record.attempt] = (record.bindingHash, nil, refusal)
                return result
            }
            let key = IdentityKey(team: record.team, subject: record.claims.subject)
            if let revoked = state.revocations[key.subject], revoked.eventTime >= record.claims.issuedAt,
                revoked.receivedAt >= record.attemptIssuedAt
            {
                return refuse(.revoked, .revoked)
            }
            guard let (user, isNew) = admit(record, key: key, in: &state, effects: &effects) else {
                return refuse(.closed, .closed)
            }
            switch user.state {
            case .pending: return refuse(.pending, .pending(user.id))
            case .disabled: return refuse(.disabled, .disabled(user.id))
            case .active: break
            }
            // The same person's session in the same browser goes on under a new token.
            let sameBrowser = state.usedAttempts.values.filter { $0.0 == record.bindingHash }.compactMap(\.1)
            let before = state.sessions.values.filter {
                ($0.id == record.replacing || sameBrowser.contains($0.id)) && record.session.kind == .browser
            }
            let kept = before.filter { $0.user == user.id }.max { $0.createdAt < $1.createdAt }
            if let kept {
                state.sessions[kept.tokenHash] = nil
                effects.append(.token(kept.tokenHash))
            }
            _ = endSessions(
                where: { session in before.contains { $0.id == session.id } }, cause: .replaced, at: record.now,
                in: &state, effects: &effects)
            let new = record.session
            let id = kept?.id ?? new.id
            let shared = kept.flatMap { record.sharesToken(of: $0) ? $0 : nil }
            let session = Session(
                id: id, tokenHash: shared?.tokenHash ?? new.token.hash(of: id, since: record.now), kind: new.kind,
                user: user.id, clientID: record.claims.clientID, device: new.device, issuedAt: record.claims.issuedAt,
                createdAt: shared?.createdAt ?? record.now, lastSeenAt: record.now, expiresAt: new.expiresAt)
            state.sessions[session.tokenHash] = session
            state.usedAttempts[record.attempt] = (record.bindingHash, session.id, nil)
            self.record(
                .sessionCreated, user: user.id, session: session.id, cause: kept == nil ? nil : .replaced,
                at: record.now, in: &state)
            return .signedIn(user: user, session: session, isNewUser: isNew)
        }
    }

    private func admit(
        _ record: SignInRecord, key: IdentityKey, in state: inout State, effects: inout [SessionInvalidations.Entry]
    ) -> (User, isNew: Bool)? {
        if state.people[key] == nil, record.policy == .closed { return nil }
        let consent = state.firstConsents.removeValue(forKey: key)
        if let sealed = record.sealedRefreshToken {
            let held = state.credentials[key]?[record.claims.clientID]
            if (held?.issuedAt ?? record.claims.issuedAt) <= record.claims.issuedAt {
                state.credentials[key, default: [:]][record.claims.clientID] = Credential(
                    sealed: sealed, issuedAt: record.claims.issuedAt)
            }
        }
        if var person = state.people[key] {
            let fields = person.user.absorb(record.claims, firstConsent: consent, told: &person.told)
            person.lastSignIn = max(person.lastSignIn, record.claims.issuedAt)
            state.people[key] = person
            if !fields.isEmpty {
                self.record(.userUpdated, user: person.user.id, fields: fields, at: record.now, in: &state)
                effects.append(.user(person.user.id))
            }
            return (person.user, false)
        }
        let user = User(
            id: record.newUser, state: record.policy == .approval ? .pending : .active, claims: record.claims,
            firstConsent: consent, createdAt: record.now)
        state.people[key] = Person(
            user: user, team: record.team, lastSignIn: record.claims.issuedAt, told: LastTold(record.claims))
        self.record(.userCreated, user: user.id, at: record.now, in: &state)
        if user.state == .pending { self.record(.userPending, user: user.id, at: record.now, in: &state) }
        return (user, true)
    }
}

extension MemoryStore {
    package func beginExchange(
        _ claim: ExchangeClaim, consent: FirstConsent?
    ) async throws(StoreError) -> ExchangeClaimResult {
        try write { state, _ in
            if let held = state.exchanges[claim.attempt] {
                return .taken(request: held.claim.request, begunAt: held.claim.begunAt, isSpent: held.isSpent)
            }
            state.exchanges[claim.attempt] = (claim, false)
            if let consent {
                state.firstConsents[IdentityKey(team: consent.team, subject: consent.subject)] = consent.name
            }
            return .begun
        }
    }

    package func settleExchange(_ attempt: Digest256, isSpent: Bool) async throws(StoreError) {
        try write { state, _ in
            if isSpent { state.exchanges[attempt]?.isSpent = true } else { state.exchanges[attempt] = nil }
        }
    }

    package func keepCredential(_ credential: FreshCredential) async throws(StoreError) {
        try write { state, _ in
            state.kept.append(credential)
            let key = IdentityKey(team: credential.team, subject: credential.subject)
            guard state.people[key] != nil else { return }
            let held = state.credentials[key]?[credential.clientID]
            guard (held?.issuedAt ?? credential.issuedAt) <= credential.issuedAt else { return }
            state.credentials[key, default: [:]][credential.clientID] = Credential(
                sealed: credential.sealedRefreshToken, issuedAt: credential.issuedAt)
        }
    }
}

extension MemoryStore: NotificationStore {
    package func apply(
        _ notification: AppleNotification, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationOutcome {
        try write { state, effects in
            guard state.notifications.insert(notification.id).inserted else { return .duplicate }
            let outcome = change(notification, team: team, at: now, in: &state, effects: &effects)
            if let subject = notification.subject {
                state.told[subject, default: []].append(
                    AccountRecord.Notification(
                        type: notification.type, eventTime: notification.eventTime, receivedAt: now,
                        outcome: "\(outcome)"))
            }
            return outcome
        }
    }

    private func change(
        _ notification: AppleNotification, team: TeamID, at now: Timestamp, in state: inout State,
        effects: inout [SessionInvalidations.Entry]
    ) -> NotificationOutcome {
        if case .unknown = notification.kind { return .unknownType }
        guard let subject = notification.subject else { return .unknownSubject }
        let key = IdentityKey(team: team, subject: subject)
        if notification.kind == .consentRevoked || notification.kind == .accountDeleted {
            let known = state.revocations[subject]
            if (known?.eventTime ?? notification.eventTime) <= notification.eventTime {
                state.revocations[subject] = (notification.eventTime, now)
            }
        }
        guard let person = state.people[key] else { return .unknownSubject }
        let effect = NotificationEffect(
            of: notification, lastSignIn: person.lastSignIn, told: person.told, address: person.user.email,
            onAccountDeleted: onAccountDeleted)
        switch effect {
        case .unknownType: return .unknownType
        case .stale: return .stale
        case .emailForwarding(let isOn):
            state.people[key]?.user.emailForwarding = isOn
            state.people[key]?.told.forwarding = notification.eventTime
            if let address = notification.email?.address, address.isExactly(person.user.email?.address ?? "") {
                state.people[key]?.told.email = max(person.told.email ?? notification.eventTime, notification.eventTime)
            }
            record(isOn ? .emailEnabled : .emailDisabled, user: person.user.id, at: now, in: &state)
            effects.append(.user(person.user.id))
        case .end(let cause, let loss):
            _ = endSessions(
                where: { $0.user == person.user.id && $0.issuedAt <= notification.eventTime }, cause: cause,
                at: now, in: &state, effects: &effects)
            state.credentials[key] = state.credentials[key]?.filter { $1.issuedAt > notification.eventTime }
            if let loss {
                let time = notification.eventTime
                lose(loss, key: key, cause: cause, of: time, at: now, in: &state, effects: &effects)
            }
        }
        return .applied
    }

    private func lose(
        _ loss: NotificationEffect.AuthorizationLoss, key: IdentityKey, cause: SessionEndCause, of time: Timestamp,
        at now: Timestamp, in state: inout State, effects: inout [SessionInvalidations.Entry]
    ) {
        guard let user = state.people[key]?.user.id else { return }
        effects.append(.user(user))
        record(cause == .consentRevoked ? .consentRevoked : .accountDeleted, user: user, at: now, in: &state)
        switch loss {
        case .revoked:
            apply(.consentRevoked(at: time), to: key, at: now, in: &state)
        case .disabled:
            apply(.accountDeleted(at: time, .disable), to: key, at: now, in: &state)
            set(.disabled, of: key, cause: cause, at: now, in: &state, effects: &effects)
        case .erased:
            state.people[key] = nil
            state.firstConsents[key] = nil
            state.credentials[key] = nil
        }
    }

    private func apply(_ event: CredentialEvent, to key: IdentityKey, at now: Timestamp, in state: inout State) {
        guard let person = state.people[key] else { return }
        let before = person.user.identityCredential
        let after = CredentialStatus.transition(from: before, on: event, lastSignIn: person.lastSignIn) ?? before
        state.people[key]?.user.identityCredential = after
        if after.state != before.state {
            record(.userUpdated, user: person.user.id, fields: ["credentialState"], at: now, in: &state)
        }
    }
}
