import Coding
import Crypto

/// A callback whose state opened and whose browser matched: what may be taken to Apple, once.
private struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let name: PersonName?
    let nonce: String

    init(form: CallbackForm, opened: SignIn.OpenedState) throws(SignInFailure) {
        guard let code = form.code, !code.isEmpty else { throw .malformedCallback("code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw .malformedCallback("id_token is missing")
        }
        self.code = code
        self.identityToken = identityToken
        self.name = form.name
        self.nonce = Base64URL.encode(opened.attempt.nonce)
    }
}

// The part of a sign-in that is done once for all its duplicates.
extension SignIn {
    func work(form: CallbackForm, opened: OpenedState, device: Device, keptName: String?) async -> SignInOutcome {
        do throws(SignInFailure) {
            if let used = try await storing({ () throws(StoreError) in
                try await store.usedAttempt(opened.id, at: clock.now())
            }) {
                return outcome(of: used, opened: opened)
            }
            let callback = try ValidatedCallback(form: form, opened: opened)
            let identity = try await redeem(callback, keptName: keptName)
            return try await complete(identity, opened: opened, device: device)
        } catch {
            return .failed(error, retry: opened.returnTo)
        }
    }

    /// Verifies the front channel, makes the name safe, and exchanges the code. Consumes the callback: a code is sent
    /// once.
    private func redeem(
        _ callback: consuming ValidatedCallback, keptName: String?
    ) async throws(SignInFailure) -> VerifiedIdentity {
        let claims = try await provider.verify(
            identityToken: callback.identityToken, authorizationCode: callback.code, nonce: callback.nonce,
            clientID: provider.servicesID)
        if let name = callback.name ?? name(keptAs: keptName, for: claims.subject), !name.isEmpty {
            // Apple sends the name once, ever. Committed before Apple is asked, it survives a failing exchange.
            try await storing { () throws(StoreError) in
                try await store.saveFirstConsent(
                    team: provider.team, subject: claims.subject, name: name, at: clock.now())
            }
        }
        let identity = try await provider.exchange(
            authorizationCode: callback.code, nonce: callback.nonce, claims: claims)
        // The provider holds the tokens against each other; that a person is who the browser said is worth a line.
        guard identity.claims.subject == claims.subject, identity.claims.clientID == claims.clientID else {
            throw .tokenMismatch("the exchange returned another person or client")
        }
        return identity
    }

    private func complete(
        _ identity: VerifiedIdentity, opened: OpenedState, device: Device
    ) async throws(SignInFailure) -> SignInOutcome {
        let now = clock.now()
        let token = SessionToken.make(random: random)
        let identifiers = RandomIdentifier(random: random)
        let attemptEnd = opened.attempt.issuedAt.adding(seconds: configuration.attemptLifetime)
        let record = SignInRecord(
            attempt: opened.id, bindingHash: opened.attempt.bindingHash,
            attemptIssuedAt: opened.attempt.issuedAt,
            attemptExpiresAt: attemptEnd.adding(seconds: RetentionPolicy.usedAttempts),
            team: provider.team, claims: identity.claims,
            sealedRefreshToken: seal(identity.refreshToken, claims: identity.claims),
            policy: configuration.signUp, newUser: identifiers.make(),
            session: NewSession(
                id: identifiers.make(), tokenHash: token.hash, kind: .browser, device: device,
                expiresAt: now.adding(seconds: configuration.sessionLimits.lifetime)),
            replacing: opened.attempt.replacing, now: now,
            firstCheckAt: CheckSchedule(random: random).afterSignIn(at: now))
        let result = try await storing { () throws(StoreError) in try await store.completeSignIn(record) }
        switch result {
        case .signedIn(_, let session, _): return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        case .alreadyUsed(let used): return outcome(of: used, opened: opened)
        case .pending(let user): return .pending(user)
        case .disabled(let user): return .disabled(user)
        case .closed: return .closed
        case .revoked: throw .revoked
        }
    }

    /// The refresh token as it is stored: bound to the person and client it belongs to.
    private func seal(_ token: RefreshToken?, claims: IdentityClaims) -> [UInt8]? {
        guard let token else { return nil }
        let context = RefreshToken.sealingContext(
            team: provider.team, subject: claims.subject, clientID: claims.clientID)
        return keyring.seal(Array(token.value.utf8), purpose: .refreshToken, context: context)
    }

    private func storing<Value>(
        _ operation: () async throws(StoreError) -> Value
    ) async throws(SignInFailure) -> Value {
        do {
            return try await operation()
        } catch {
            throw .storage(error.text)
        }
    }
}

extension RefreshToken {
    /// The context a refresh token is sealed with: `team|sub|clientID`.
    package static func sealingContext(team: TeamID, subject: AppleSubject, clientID: ClientID) -> [UInt8] {
        Array("\(team.rawValue)|\(subject.rawValue)|\(clientID.rawValue)".utf8)
    }
}
