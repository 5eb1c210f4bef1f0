import Coding
import Crypto

/// An answer of Apple's whose attempt is ours, from a browser that matched or from an app: what may be taken to Apple,
/// once.
struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let name: PersonName?
    /// As Apple's token has to echo it.
    let nonce: String
    /// Whose audience the token may be.
    let clients: [ClientID]

    init(form: CallbackForm, opened: SignIn.OpenedState, servicesID: ClientID) throws(SignInFailure) {
        guard let code = form.code, !code.isEmpty else { throw .malformedCallback("code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw .malformedCallback("id_token is missing")
        }
        self.code = code
        self.identityToken = identityToken
        self.name = form.name
        self.nonce = Base64URL.encode(opened.attempt.nonce)
        self.clients = [servicesID]
    }

    /// - Parameters:
    ///   - nonceClaim: of the challenge that was opened, as `apple.nativeNonce` says.
    ///   - name: made safe.
    init(_ request: NativeSignInRequest, nonceClaim: String, clients: [ClientID], name: PersonName) {
        code = request.authorizationCode
        identityToken = request.identityToken
        self.name = name
        nonce = nonceClaim
        self.clients = clients
    }
}

/// The attempt that a sign-in uses up, a browser's or an app's.
struct SignInAttempt: Sendable {
    var id: Digest256
    var issuedAt: Timestamp
    /// Of the browser's binding; of an app, the digest of its request.
    var bindingHash = SHA256.hash([])
    var replacing: SessionID?
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
            if let person = try await waitingPerson(of: opened) { return .asksExisting(person) }
            let callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
            let claims = try await verify(callback)
            let kept = callback.name == nil ? name(keptAs: keptName, for: claims.subject) : nil
            if let consent = consent(of: callback, claims, kept: kept) {
                // Apple sends the name once, ever. Committed before Apple is asked, it survives a failing exchange.
                try await storing { () throws(StoreError) in
                    try await store.saveFirstConsent(
                        team: consent.team, subject: consent.subject, name: consent.name, at: clock.now())
                }
            }
            let name = callback.name ?? kept
            let identity = try await exchange(callback, claims)
            let attempt = SignInAttempt(
                id: opened.id, issuedAt: opened.attempt.issuedAt, bindingHash: opened.attempt.bindingHash,
                replacing: opened.attempt.replacing)
            if let person = try await keepWaiting(identity, name: name, attempt: attempt, opened, device) {
                return .asksExisting(person)
            }
            let token = SessionToken.make(random: random)
            let result = try await complete(identity, attempt: attempt, kind: .browser, token: token, device: device)
            return try outcome(of: result, token: token, opened: opened)
        } catch {
            // A duplicate that another process was given, as during a hand-over, may have had the code first.
            if case .codeRefused = error, let used = try? await store.usedAttempt(opened.id, at: clock.now()) {
                return outcome(of: used, opened: opened)
            }
            return .failed(error, retry: opened.returnTo)
        }
    }

    func outcome(
        of result: SignInResult, token: SessionToken, opened: OpenedState
    ) throws(SignInFailure) -> SignInOutcome {
        switch result {
        case .signedIn(_, let session, _): return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        case .alreadyUsed(let used): return outcome(of: used, opened: opened)
        case .pending(let user): return .pending(user)
        case .disabled(let user): return .disabled(user)
        case .closed: return .closed
        case .revoked: throw .revoked
        }
    }

    /// Verifies what came through the browser or the app.
    func verify(_ callback: borrowing ValidatedCallback) async throws(SignInFailure) -> IdentityClaims {
        try await provider.verify(
            identityToken: callback.identityToken, authorizationCode: callback.code, nonce: callback.nonce,
            clientIDs: callback.clients)
    }

    /// The name that came along, to be made safe before Apple is asked; nil when none did.
    /// - Parameter kept: what an earlier try of this browser left with it.
    func consent(
        of callback: borrowing ValidatedCallback, _ claims: IdentityClaims, kept: PersonName? = nil
    ) -> FirstConsent? {
        guard let name = callback.name ?? kept, !name.isEmpty else { return nil }
        return FirstConsent(team: provider.team, subject: claims.subject, name: name)
    }

    /// Exchanges the code. Consumes the callback: a code is sent once.
    func exchange(
        _ callback: consuming ValidatedCallback, _ claims: IdentityClaims
    ) async throws(SignInFailure) -> VerifiedIdentity {
        let identity = try await provider.exchange(
            authorizationCode: callback.code, nonce: callback.nonce, claims: claims)
        // The provider holds the tokens against each other; that a person is who the browser said is worth a line.
        guard identity.claims.subject == claims.subject, identity.claims.clientID == claims.clientID else {
            throw .tokenMismatch("the exchange returned another person or client")
        }
        return identity
    }

    /// The one transaction.
    func complete(
        _ identity: VerifiedIdentity, attempt: SignInAttempt, kind: SessionKind, token: SessionToken, device: Device
    ) async throws(SignInFailure) -> SignInResult {
        let now = clock.now()
        let record = SignInRecord(
            attempt: attempt.id, bindingHash: attempt.bindingHash, attemptIssuedAt: attempt.issuedAt,
            attemptExpiresAt: rowEnd(of: attempt), team: provider.team, claims: identity.claims,
            sealedRefreshToken: seal(identity.refreshToken, claims: identity.claims),
            policy: configuration.signUp, newUser: identifiers.make(),
            session: NewSession(
                id: identifiers.make(at: now), tokenHash: token.hash, kind: kind, device: device,
                expiresAt: now.adding(seconds: configuration.sessionLimits.lifetime)),
            replacing: attempt.replacing, now: now,
            firstCheckAt: CheckSchedule(random: random).afterSignIn(at: now))
        return try await storing { () throws(StoreError) in try await store.completeSignIn(record) }
    }

    /// When what is kept of an attempt may go.
    func rowEnd(of attempt: SignInAttempt) -> Timestamp {
        attempt.issuedAt.adding(seconds: configuration.attemptLifetime + RetentionPolicy.usedAttempts)
    }

    /// The refresh token as it is stored: bound to the person and client it belongs to.
    func seal(_ token: RefreshToken?, claims: IdentityClaims) -> [UInt8]? {
        guard let token else { return nil }
        let context = RefreshToken.sealingContext(
            team: provider.team, subject: claims.subject, clientID: claims.clientID)
        return keyring.seal(Array(token.value.utf8), purpose: .refreshToken, context: context)
    }

    func storing<Value>(
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
