import Coding
import Crypto
import Storage

// The steps that sign-ins of browsers and apps, and links, share.
extension SignIn {
    /// Verifies the identity token that came through the browser or the app.
    func verify(_ callback: borrowing ValidatedCallback) async throws(Failure) -> IdentityClaims {
        try await provider.verify(
            identityToken: callback.identityToken, authorizationCode: callback.code, nonce: callback.nonce,
            clientIDs: callback.clients)
    }

    /// The name to be stored before the exchange: the accompanying one, or the one the browser kept. Nil without one.
    func consent(
        of callback: borrowing ValidatedCallback, _ claims: IdentityClaims, kept: PersonName? = nil
    ) -> FirstConsent? {
        guard let name = callback.name ?? kept, !name.isEmpty else { return nil }
        return FirstConsent(team: provider.team, subject: claims.subject, name: name)
    }

    /// Exchanges the code. Consumes the callback: a code is sent once.
    func exchange(
        _ callback: consuming ValidatedCallback, _ claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        let identity = try await provider.exchange(
            authorizationCode: callback.code, nonce: callback.nonce, claims: claims)
        // The provider compares the tokens; checked again here.
        guard identity.claims.subject == claims.subject, identity.claims.clientID == claims.clientID else {
            throw Failure(.tokenMismatch, "the exchange returned another person or client")
        }
        return identity
    }

    func record(
        of identity: VerifiedIdentity, attempt: SignInAttempt, kind: SessionKind, token: NewToken, device: Device,
        policy: SignUpPolicy
    ) -> SignInRecord {
        let now = clock.now()
        return SignInRecord(
            attempt: attempt, attemptExpiresAt: rowEnd(of: attempt), team: provider.team, claims: identity.claims,
            sealedRefreshToken: seal(identity.refreshToken, claims: identity.claims),
            firstCheckAt: CheckSchedule(random: random).afterSignIn(at: now), policy: policy,
            newUser: identifiers.make(), session: identifiers.make(at: now), token: token, kind: kind, device: device,
            sessionExpiresAt: now.adding(seconds: database.options.sessionLimits.lifetime), now: now)
    }

    func complete(
        _ identity: VerifiedIdentity, attempt: SignInAttempt, kind: SessionKind, token: NewToken, device: Device
    ) async throws(Failure) -> SignInResult {
        let record = record(
            of: identity, attempt: attempt, kind: kind, token: token, device: device, policy: configuration.signUp)
        let result = try await database.completeSignIn(record)
        if case .refused(.revoked, _) = result { throw Failure(.revoked) }
        return result
    }

    /// When the attempt's rows may be deleted.
    func rowEnd(of attempt: SignInAttempt) -> Timestamp {
        attempt.issuedAt.adding(seconds: configuration.attemptLifetime + RetentionPolicy.usedAttempts)
    }

    /// The refresh token as stored: bound to its person and client.
    func seal(_ token: RefreshToken?, claims: IdentityClaims) -> [UInt8]? {
        guard let token else { return nil }
        let context = RefreshToken.sealingContext(
            team: provider.team, subject: claims.subject, clientID: claims.clientID)
        return keyring.seal(Array(token.value.utf8), purpose: .refreshToken, context: context)
    }

    /// The name a browser kept, for the person who now signs in.
    func name(keptAs text: String?, for subject: AppleSubject) -> PersonName? {
        guard let text, let kept = KeptName.open(text, with: keyring, at: clock.now()), kept.subject == subject,
            !kept.name.isEmpty
        else { return nil }
        return kept.name
    }

    /// Claims the right to send the code; false when an identical request has it and may still be running.
    func claimCode(
        _ request: Digest256, _ attempt: SignInAttempt, consent: FirstConsent?
    ) async throws(Failure) -> Bool {
        let now = clock.now()
        let claim = ExchangeClaim(attempt: attempt.id, request: request, begunAt: now, expiresAt: rowEnd(of: attempt))
        guard let other = try await database.beginExchange(claim, consent: consent) else { return true }
        guard constantTimeEquals(other.request.bytes, request.bytes) else { throw Failure(.replayed) }
        if other.isSpent || now >= other.begunAt.adding(seconds: ExchangeClaim.flightTime) || now < other.begunAt {
            throw Failure(.codeRefused, "the code was already sent to Apple, without a result")
        }
        return false
    }

    /// The same, where an identical request in flight is an error.
    func requireCode(_ request: Digest256, _ attempt: SignInAttempt, consent: FirstConsent?) async throws(Failure) {
        guard try await claimCode(request, attempt, consent: consent) else { throw Self.codeInFlight }
    }

    static var codeInFlight: Failure {
        Failure(.providerUnavailable, "the code is being exchanged, or a process ended while exchanging it")
    }

    /// Exchanges a code that was claimed; settles the claim when that fails.
    func exchange(
        _ callback: consuming ValidatedCallback, _ claims: IdentityClaims, claimed attempt: SignInAttempt
    ) async throws(Failure) -> VerifiedIdentity {
        do throws(Failure) {
            return try await exchange(callback, claims)
        } catch {
            throw await settled(attempt.id, after: error)
        }
    }

    /// Records after a failed exchange whether the code may be sent again.
    func settled(_ attempt: Digest256, after failure: Failure) async -> Failure {
        // A claim that cannot be settled ends with its flight time; then the code counts as spent.
        try? await database.settleExchange(attempt, isSpent: !failure.leavesCodeUnused)
        return failure
    }
}

extension RefreshToken {
    /// The context of a refresh token's seal: `team|sub|clientID`.
    package static func sealingContext(team: TeamID, subject: AppleSubject, clientID: ClientID) -> [UInt8] {
        Array("\(team.rawValue)|\(subject.rawValue)|\(clientID.rawValue)".utf8)
    }
}
