import Coding
package import Crypto
package import Storage

/// The OpenID provider (OIDC Core): the decisions of its endpoints, without HTTP.
package struct OpenIDProvider: Sendable {
    /// Seconds.
    package static let codeLifetime: Int64 = 60
    package static let accessLifetime: Int64 = 3_600
    /// How long an unused refresh token lives.
    package static let refreshLifetime: Int64 = 90 * 86_400
    /// Within this time a repeated request gets the same answer again.
    static let refreshGrace: Int64 = 10
    /// How long a person may take at Apple before they are sent there again.
    static let markLifetime: Int64 = 3_600

    package let issuer: String
    package let database: Database
    /// The audiences of assertions.
    private let audiences: [String]
    let tokens: IDTokens
    let keyring: SealingKeyring
    /// Nil: only registered clients.
    let documents: ClientDocuments?
    let clock: any WallClock
    let random: any RandomSource
    private let uses = UseTimes<OpenIDClientID>()
    private let refusals = UseTimes<OpenIDClientID>()
    let serviceUses = UseTimes<OpenIDClientID>()

    package init(
        issuer: String, audiences: [String], database: Database, keys: SigningKeys, keyring: SealingKeyring,
        documents: ClientDocuments? = nil, runtime: Runtime
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.database = database
        tokens = IDTokens(issuer: issuer, keys: keys)
        self.keyring = keyring
        self.documents = documents
        clock = runtime.clock
        random = runtime.random
    }

    // MARK: Authorization

    /// The answer to a valid authorization request.
    package enum AuthorizeAnswer: Sendable {
        case code(GrantedCode)
        /// For the client.
        case error(ProviderError)
        /// The person must sign in; afterwards the same path with this query.
        case signIn(query: String)
        /// The person must allow it: a form with this query's parameters and this ticket.
        case ask(query: String, ticket: String, SignedIn)
        /// The person may not use the client; they decide whether it is informed.
        case notAllowed(ProviderError)
    }

    /// - Parameters:
    ///   - signedIn: the browser's live session, if any.
    ///   - ticket: of the form in which the person allowed it.
    package func authorize(
        _ request: ValidatedAuthorizeRequest, signedIn: SignedIn?, isCancelled: Bool, ticket: String? = nil
    ) async throws(Failure) -> AuthorizeAnswer {
        let now = clock.now()
        if isCancelled { return .error(ProviderError(.accessDenied, "the sign-in was cancelled")) }
        let known = request.mark.flatMap { RequestSeal.open($0, .mark, for: request.digest, with: keyring) }
            .flatMap { now < $0.time.adding(seconds: Self.markLifetime) ? $0 : nil }
        var subject = known.flatMap { UserID(parsing: $0.name) }
        if known == nil, let hint = request.hint {
            guard let verified = try await tokens.verify(hint: hint, at: now) else {
                return .error(ProviderError(.loginRequired, "id_token_hint is not an ID token of this server"))
            }
            subject = verified.user
        }
        let mark = RequestSeal(time: now, name: subject?.rawValue ?? "")
        var onward: String {
            request.query(
                mark: known == nil ? mark.text(.mark, for: request.digest, with: keyring) : request.mark ?? "")
        }
        let isSilent = request.prompt == AuthorizePrompt.none
        var login: AuthorizeAnswer {
            isSilent ? .error(ProviderError(.loginRequired, "the person must sign in")) : .signIn(query: onward)
        }
        guard let signedIn, request.isAnswered(by: signedIn.session, known, at: now) else { return login }
        if let subject, subject != signedIn.user.id {
            let isSettled = known.map { signedIn.session.createdAt >= $0.time } ?? false
            return isSettled || isSilent ? .error(ProviderError(.loginRequired, "another person is signed in")) : login
        }
        guard signedIn.user.state == .active, request.client.admits(groups: signedIn.user.memberships) else {
            let error = ProviderError(.accessDenied, "the person may not use this client")
            return isSilent ? .error(error) : .notAllowed(error)
        }
        let (isForeign, isNative) = (request.client.isForeign, request.isNative)
        let isAllowed = allows(ticket, request.digest, in: signedIn.session.id, at: now)
        var ask: AuthorizeAnswer {
            if isSilent {
                let code = isNative ? ProviderError.Code.interactionRequired : .consentRequired
                return .error(ProviderError(code, "the person must allow it in the browser"))
            }
            return .ask(
                query: onward, ticket: decisionTicket(for: request.digest, in: signedIn.session.id, at: now), signedIn)
        }
        if !isAllowed, isNative || isForeign && request.asksConsent { return ask }
        let (grant, code) = grant(request, signedIn, at: now)
        let needed = isForeign ? request.services.scopes(asked: request.scopes) : [:]
        switch try await database.saveGrant(
            grant, of: request.client, needing: needed, isAllowed: isAllowed, at: now)
        {
        case .saved: return .code(code)
        case .notAllowed: return ask
        case .sessionEnded: return login
        }
    }

    /// Stores a request of `AuthorizeAnswer.signIn` that is too long to be sent through Apple; nil while there are too
    /// many.
    package func keep(_ query: String) async throws(Failure) -> String? {
        let (id, now) = (Base64URL.encode(random.bytes(16)), clock.now())
        return try await database.write(at: now) { transaction in
            try transaction.run("DELETE FROM authorize_request WHERE expires_at <= ?", [now])
            // 32 KB each: requests from many addresses could fill the disk.
            guard try transaction.count("SELECT count(*) FROM authorize_request") < 1_000 else { return nil }
            try transaction.run(
                "INSERT INTO authorize_request (id, query, expires_at) VALUES (?, ?, ?)",
                [SHA256.hash(utf8: id), query, now.adding(seconds: Self.markLifetime)])
            return id
        }
    }

    /// The query of `keep`'s id; nil once it has expired.
    package func kept(_ id: String) async throws(Failure) -> String? {
        let (hash, now) = (SHA256.hash(utf8: id), clock.now())
        return try await database.read(at: now) { snapshot in
            try snapshot.value("SELECT query FROM authorize_request WHERE id = ? AND expires_at > ?", [hash, now])
        }
    }

    private func grant(
        _ request: ValidatedAuthorizeRequest, _ signedIn: SignedIn, at now: Timestamp
    ) -> (Grant, GrantedCode) {
        let id = Grant.ID.make(at: now, random: random)
        let code = GrantedCode.make(id, secret: random.bytes(32))
        let session = signedIn.session
        let grant = Grant(
            id: id, client: request.client.id, user: signedIn.user.id, session: session.id,
            redirectURI: request.address.redirectURI, scopes: request.scopes, services: request.services.map(\.uri),
            nonce: request.nonce,
            challenge: request.challenge, authenticatedAt: session.createdAt,
            code: Grant.Token(hash: code.hash, expiresAt: now.adding(seconds: Self.codeLifetime)),
            expiresAt: now.adding(seconds: Self.codeLifetime))
        return (grant, code)
    }

    // MARK: Clients

    /// A client that has an assertion audience's name, perhaps configured later, is unknown (RFC 8725 §3.12).
    func isAudience(_ name: String) -> Bool { audiences.contains { $0.isExactly(name) } }

    /// The client of a request, proven. A wrong secret is recorded for the operator.
    package func authenticate(_ request: ProviderRequest) async throws(Failure) -> OpenIDClient {
        let now = clock.now()
        let client = try await storedClient(named: request.clientID)
        func refused(_ cause: String) -> Failure {
            .oauth(
                .invalidClient, "unknown client, or wrong client authentication",
                cause: "client \(request.clientID): \(cause)")
        }
        guard let client else { throw refused("unknown") }
        let isProven =
            client.secrets.map { secrets in request.secrets.contains { secrets.accept($0, at: now) } }
            ?? request.secrets.isEmpty
        if isProven { return client }
        await touch(client, isRefused: true, at: now)
        throw refused("wrong authentication")
    }

    /// For the operator's information: a failing store is ignored.
    private func touch(_ client: OpenIDClient, isRefused: Bool, at now: Timestamp) async {
        let isDue =
            isRefused
            ? refusals.isDue(client.id, last: client.lastRefusedAt, at: now)
            : uses.isDue(client.id, last: client.lastUsedAt, at: now)
        guard isDue else { return }
        try? await database.touchOpenIDClient(client.id, isRefused: isRefused, at: now)
    }

    // MARK: Tokens

    /// The answer of the token endpoint (OIDC Core §3.1.3.3, §12.2).
    package struct TokenAnswer: Sendable {
        package var access: GrantedAccessToken
        /// Nil for a grant without `openid`, which is for services alone.
        package var idToken: Secret?
        package var refresh: GrantedRefreshToken?
        /// Seconds.
        package var expiresIn: Int64
        package var scopes: [OpenIDScope]
    }

    /// - Parameter client: proven.
    package func tokens(for request: ProviderRequest, of client: OpenIDClient) async throws(Failure) -> TokenAnswer {
        let answer: TokenAnswer
        switch try TokenRequest(request) {
        case .code(let code, let redirectURI, let verifier, let resource):
            answer = try await exchange(code, redirectURI: redirectURI, verifier: verifier, resource, client)
        case .device(let code, let resource):
            try client.requireDevice()
            try await database.poll(code, of: client.id, at: clock.now()).requireAllowed()
            answer = try await exchange(code, redirectURI: "", verifier: nil, resource, client)
        case .refresh(let token, let scopes, let resource): answer = try await refresh(token, scopes, resource, client)
        }
        await touch(client, isRefused: false, at: clock.now())
        return answer
    }

    private func exchange(
        _ code: some GrantToken, redirectURI: String, verifier: String?, _ resource: String?, _ client: OpenIDClient
    ) async throws(Failure) -> TokenAnswer {
        let now = clock.now()
        let access = GrantedAccessToken.make(code.grant, secret: random.bytes(32))
        let refresh = GrantedRefreshToken.issue(code.grant, seed: random.bytes(GrantedRefreshToken.half), with: keyring)
        let held = try await database.changeGrant(code.grant, at: now) { held -> (GrantChange, Granted) in
            func refused(_ cause: String) -> Granted { .failure(TokenRequest.refusedCode(cause)) }
            guard var held, held.grant.client == client.id, constantTimeEquals(held.grant.code.hash, code.hash)
            else { return (.keep, refused("unknown")) }
            // RFC 6749 §4.1.2: someone else has it too.
            if held.grant.isCodeUsed { return (.end, refused("used before: its tokens have ended")) }
            if let cause = Self.refusal(of: held, redirectURI: redirectURI, verifier: verifier, at: now) {
                return (.keep, refused(cause))
            }
            let service: Service?
            do throws(Failure) { service = try held.service(named: resource) } catch { return (.keep, .failure(error)) }
            let scopes = held.allowed(held.grant.scopes, at: service)
            held.grant.isCodeUsed = true
            held.grant.access = Grant.Access(
                hash: access.hash, expiresAt: held.accessEnd(at: now), scopes: scopes, service: service?.uri)
            held.grant.expiresAt = held.accessEnd(at: now)
            if scopes.contains(.offlineAccess) {
                held.grant.refresh = Grant.Refresh(hash: refresh.hash)
                held.grant.access?.expiresAt = now.adding(seconds: Self.accessLifetime)
                held.grant.expiresAt = now.adding(seconds: Self.refreshLifetime)
            }
            return (.replace(held.grant), .success(held))
        }.get()
        return try await answer(held, access, held.grant.refresh == nil ? nil : refresh, isFirst: true, at: now)
    }

    /// Why a known, unused code gets no tokens; nil when it does.
    private static func refusal(
        of held: HeldGrant, redirectURI: String, verifier: String?, at now: Timestamp
    ) -> String? {
        if now >= held.grant.code.expiresAt { return "expired" }
        if !held.grant.redirectURI.isExactly(redirectURI) {
            return "redirect_uri is \(redirectURI.prefix(200)), the code was for \(held.grant.redirectURI)"
        }
        if !proves(verifier, held.grant.challenge) { return "code_verifier" }
        if held.sessionEnd == nil { return "the session has ended" }
        return held.isAdmitted ? nil : "the person may no longer use the client"
    }

    /// RFC 7636 §4.6. One without the other proves nothing (RFC 9700 §4.8.2).
    private static func proves(_ verifier: String?, _ challenge: String?) -> Bool {
        guard let verifier, let challenge else { return verifier == nil && challenge == nil }
        guard (43...128).contains(verifier.utf8.count) else { return false }
        return constantTimeEquals(
            Array(Base64URL.encode(SHA256.hash(utf8: verifier).bytes).utf8), Array(challenge.utf8))
    }

    private typealias Granted = Result<HeldGrant, Failure>

    private func refresh(
        _ token: GrantedRefreshToken, _ scopes: [OpenIDScope]?, _ resource: String?, _ client: OpenIDClient
    ) async throws(Failure) -> TokenAnswer {
        let now = clock.now()
        let isIssued = token.isIssued(by: keyring)
        // Derived from the old one, so that the same request gets the same answer in every process.
        let candidates = successors(of: token)
        let held = try await database.changeGrant(token.grant, at: now) { held -> (GrantChange, Granted) in
            func refused(_ cause: String) -> Granted { .failure(TokenRequest.refusedRefresh(cause)) }
            guard let held, held.grant.client == client.id, let refresh = held.grant.refresh else {
                return (.keep, refused("unknown or ended"))
            }
            if now >= held.grant.expiresAt { return (.keep, refused("expired")) }
            guard held.isAdmitted, held.mayRefresh else {
                return (.keep, refused("the client or the person may no longer use it"))
            }
            let service = Result { () throws(Failure) in try held.service(named: resource) }
            if let former = refresh.former, let usedAt = refresh.usedAt, constantTimeEquals(former, token.hash),
                // In either direction: two servers' clocks differ.
                abs(now.milliseconds - usedAt.milliseconds) <= Self.refreshGrace * 1_000
            {
                guard case .success(let same) = service, same?.uri == held.grant.access?.service else {
                    return (.keep, .failure(.oauth(.invalidTarget, "the first request was for another service")))
                }
                return (.keep, .success(held))
            }
            guard constantTimeEquals(refresh.hash, token.hash) else {
                // RFC 9700 §4.14.2: two clients have an old one. One that was never issued ends nothing.
                return isIssued ? (.end, refused("used before: its tokens have ended")) : (.keep, refused("forged"))
            }
            guard scopes?.allSatisfy(held.grant.scopes.contains) ?? true else {
                return (.keep, .failure(.oauth(.invalidScope, "the scope is wider than what was granted")))
            }
            let next = service.map { held.renewed(by: candidates[0], former: token.hash, scopes, for: $0, at: now) }
            guard case .success(let renewed) = next else { return (.keep, next) }
            return (.replace(renewed.grant), next)
        }.get()
        guard let refresh = held.grant.refresh, let usedAt = refresh.usedAt,
            let next = candidates.first(where: { constantTimeEquals($0.refresh.hash, refresh.hash) })
        else { throw TokenRequest.refusedRefresh() }
        return try await answer(held, next.access, next.refresh, isFirst: false, at: usedAt)
    }

    /// Under each key of the ring, the current one first.
    private func successors(of token: GrantedRefreshToken) -> [Successors] {
        let message = Array(token.reveal().utf8)
        let access = keyring.keyedHashes(of: message, purpose: .other("openid-access-token"))
        let refresh = keyring.keyedHashes(of: message, purpose: .other("openid-refresh-token"))
        return zip(access, refresh).map { access, seed in
            (
                .make(token.grant, secret: access),
                .issue(token.grant, seed: Array(seed.prefix(GrantedRefreshToken.half)), with: keyring)
            )
        }
    }

    private func answer(
        _ held: HeldGrant, _ access: GrantedAccessToken, _ refresh: GrantedRefreshToken?, isFirst: Bool,
        at moment: Timestamp
    ) async throws(Failure) -> TokenAnswer {
        var idToken: Secret?
        if held.grant.scopes.contains(.openid) {
            idToken = Secret(try await tokens.make(of: held, access: access, isFirst: isFirst, at: moment))
        }
        let end = held.grant.access?.expiresAt ?? moment
        return TokenAnswer(
            access: access, idToken: idToken, refresh: refresh,
            expiresIn: max(0, (end.milliseconds - moment.milliseconds) / 1_000), scopes: held.accessScopes)
    }

    // MARK: Access and revocation

    /// The grant of a live access token; nil for anything else. Its scopes are those that still apply. Only its service
    /// may be told of a service's (`Grant.Access.service`).
    package func grant(access text: String) async throws(Failure) -> HeldGrant? {
        guard let token = GrantedAccessToken(parsing: text) else { return nil }
        let now = clock.now()
        guard var held = try await database.grant(token.grant, at: now), held.isLive,
            admits(document: held.clientDocument)
        else { return nil }
        let known = [held.grant.access, held.grant.formerAccess].compactMap(\.self)
        guard let access = known.first(where: { constantTimeEquals($0.hash, token.hash) }), now < access.expiresAt
        else { return nil }
        held.grant.access = access
        // A service that is gone has no tokens.
        return access.service == nil || held.accessService != nil ? held : nil
    }

    /// Ends a token of this client (RFC 7009 §2.1): a refresh token with its whole grant. Ignores unknown ones.
    package func revoke(_ request: ProviderRequest, of client: OpenIDClient) async throws(Failure) {
        guard let text = request["token"] else { throw .oauth(.invalidRequest, "token is missing") }
        let now = clock.now()
        if let token = GrantedRefreshToken(parsing: text) {
            try await database.changeGrant(token.grant, at: now) { held -> (GrantChange, Bool) in
                guard let held, held.grant.client == client.id, let refresh = held.grant.refresh,
                    [refresh.hash, refresh.former].contains(where: {
                        $0.map { constantTimeEquals($0, token.hash) } ?? false
                    })
                else { return (.keep, false) }
                return (.end, true)
            }
        } else if let token = GrantedAccessToken(parsing: text) {
            try await database.changeGrant(token.grant, at: now) { held -> (GrantChange, Bool) in
                guard var grant = held?.grant, grant.client == client.id else { return (.keep, false) }
                let before = grant
                func without(_ access: Grant.Access?) -> Grant.Access? {
                    access.flatMap { constantTimeEquals($0.hash, token.hash) ? nil : $0 }
                }
                grant.access = without(grant.access)
                grant.formerAccess = without(grant.formerAccess)
                return grant == before ? (.keep, false) : (.replace(grant), true)
            }
        }
    }
}

private typealias Successors = (access: GrantedAccessToken, refresh: GrantedRefreshToken)

extension HeldGrant {
    /// The scopes of its access token that still apply.
    package var accessScopes: [OpenIDScope] { allowed(grant.access?.scopes ?? grant.scopes, at: accessService) }

    /// After a refresh.
    fileprivate func renewed(
        by next: Successors, former: Digest256, _ scopes: [OpenIDScope]?, for service: Service?, at now: Timestamp
    ) -> HeldGrant {
        var held = self
        held.grant.refresh = Grant.Refresh(hash: next.refresh.hash, former: former, usedAt: now)
        held.grant.formerAccess = replaced(by: service, at: now)
        held.grant.access = Grant.Access(
            hash: next.access.hash, expiresAt: now.adding(seconds: OpenIDProvider.accessLifetime),
            scopes: allowed(scopes ?? grant.scopes, at: service), service: service?.uri)
        held.grant.expiresAt = now.adding(seconds: OpenIDProvider.refreshLifetime)
        return held
    }

    /// The other access token after a refresh for this service: another service's keeps its time; one for the same stays
    /// valid for a moment, for calls in flight.
    private func replaced(by service: Service?, at now: Timestamp) -> Grant.Access? {
        func isOther(_ access: Grant.Access?) -> Bool { access.map { $0.service != service?.uri } ?? false }
        if isOther(grant.access) { return grant.access }
        if let former = grant.formerAccess, isOther(former), now < former.expiresAt { return former }
        var access = grant.access
        let end = now.adding(seconds: OpenIDProvider.refreshGrace)
        if let own = access?.expiresAt { access?.expiresAt = min(own, end) }
        return access
    }

    /// An access token without a refresh token ends with its session.
    fileprivate func accessEnd(at now: Timestamp) -> Timestamp {
        let end = now.adding(seconds: OpenIDProvider.accessLifetime)
        return sessionEnd.map { min(end, $0) } ?? end
    }
}

extension ValidatedAuthorizeRequest {
    /// Whether the session's sign-in is recent enough (OIDC Core §3.1.2.1).
    fileprivate func isAnswered(by session: Session, _ mark: RequestSeal?, at now: Timestamp) -> Bool {
        // This request caused the sign-in.
        if let mark, session.createdAt >= mark.time { return true }
        if prompt == .login { return false }
        return maximumAge.map { now < session.createdAt.adding(seconds: $0) } ?? true
    }
}
