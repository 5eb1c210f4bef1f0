package import Coding
package import Crypto
package import RelyingParty

/// Why a request of a client failed.
package enum ProviderFailure: StoreFailure, Hashable, Sendable {
    case refused(ProviderError)
    case store(StoreError)

    package init(store error: StoreError) { self = .store(error) }
}

/// The OpenID provider (OIDC Core): what its endpoints decide, without a byte of HTTP.
package struct OpenIDProvider: Sendable {
    /// Seconds.
    package static let codeLifetime: Int64 = 60
    package static let accessLifetime: Int64 = 3_600
    /// How long a refresh token lives that is not used.
    package static let refreshLifetime: Int64 = 90 * 86_400
    /// Within this time a repeated request, whose answer was lost, gets the same one.
    static let refreshGrace: Int64 = 10
    /// How long a person may take at Apple before they are sent there again.
    static let markLifetime: Int64 = 3_600

    package let issuer: String
    package let store: any OpenIDStore
    /// Of assertions.
    private let audiences: [String]
    let tokens: IDTokens
    let keyring: SealingKeyring
    let clock: any WallClock
    let random: any RandomSource
    private let uses = UseTimes<OpenIDClientID>()
    private let refusals = UseTimes<OpenIDClientID>()

    package init(
        issuer: String, audiences: [String], store: any OpenIDStore, keys: SigningKeys, keyring: SealingKeyring,
        clock: any WallClock, random: any RandomSource
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.store = store
        tokens = IDTokens(issuer: issuer, keys: keys)
        self.keyring = keyring
        self.clock = clock
        self.random = random
    }

    // MARK: Authorization

    /// The answer to a valid authorization request.
    package enum AuthorizeAnswer: Hashable, Sendable {
        /// To the client, with a code or an error.
        case redirect(String)
        /// The person must sign in; afterwards the same path with this query.
        case signIn(query: String)
        /// The person is not in the client's groups. `declined` tells the client.
        case notAllowed(declined: String)
    }

    /// - Parameter signedIn: the browser's live session, if any.
    package func authorize(
        _ request: ValidatedAuthorizeRequest, signedIn: SignedIn?, isCancelled: Bool
    ) async throws(StoreError) -> AuthorizeAnswer {
        let now = clock.now()
        if isCancelled { return redirect(request, .accessDenied, "the sign-in was cancelled") }
        let known = request.mark.flatMap { AuthorizeMark.open($0, for: request, with: keyring) }
            .flatMap { now < $0.begunAt.adding(seconds: Self.markLifetime) ? $0 : nil }
        var subject = known?.subject
        if known == nil, let hint = request.hint {
            guard let verified = try await tokens.verify(hint: hint, at: now) else {
                return redirect(request, .loginRequired, "id_token_hint is no ID token of this server")
            }
            subject = verified.user
        }
        let mark = AuthorizeMark(begunAt: now, subject: subject)
        var login: AuthorizeAnswer {
            .signIn(
                query: request.query(
                    mark: known == nil ? mark.seal(for: request, with: keyring) : request.mark ?? ""))
        }
        guard let signedIn, signedIn.user.state == .active, request.isAnswered(by: signedIn.session, known, at: now)
        else {
            return request.prompt == AuthorizePrompt.none
                ? redirect(request, .loginRequired, "the person must sign in") : login
        }
        if let subject, subject != signedIn.user.id {
            let isSettled = known.map { signedIn.session.createdAt >= $0.begunAt } ?? false
            return isSettled || request.prompt == AuthorizePrompt.none
                ? redirect(request, .loginRequired, "another person is signed in") : login
        }
        guard request.client.admits(groups: signedIn.user.groups) else {
            let error = ProviderError(.accessDenied, "the person is in no group of this client")
            let declined = request.address.location(error, issuer: issuer)
            return request.prompt == AuthorizePrompt.none ? .redirect(declined) : .notAllowed(declined: declined)
        }
        let (grant, code) = grant(request, signedIn, at: now)
        // Ended in the meantime.
        guard try await store.saveGrant(grant, at: now) else { return login }
        return .redirect(request.address.location(code: code, issuer: issuer))
    }

    private func redirect(
        _ request: ValidatedAuthorizeRequest, _ code: ProviderError.Code, _ text: String
    ) -> AuthorizeAnswer {
        .redirect(request.address.location(ProviderError(code, text), issuer: issuer))
    }

    private func grant(
        _ request: ValidatedAuthorizeRequest, _ signedIn: SignedIn, at now: Timestamp
    ) -> (Grant, GrantedCode) {
        let id = Grant.ID.make(at: now, random: random)
        let code = GrantedCode.make(id, secret: random.bytes(32))
        let session = signedIn.session
        let grant = Grant(
            id: id, client: request.client.id, user: signedIn.user.id, session: session.id,
            redirectURI: request.address.redirectURI, scopes: request.scopes, nonce: request.nonce,
            challenge: request.challenge, authenticatedAt: session.createdAt,
            code: Grant.Token(hash: code.hash, expiresAt: now.adding(seconds: Self.codeLifetime)),
            expiresAt: now.adding(seconds: Self.codeLifetime))
        return (grant, code)
    }

    // MARK: Clients

    /// - Returns: nil also for a client with the name of an assertion's audience, which may have been configured later: no
    ///   token passes for another kind (RFC 8725 §3.12).
    package func client(_ id: OpenIDClientID) async throws(StoreError) -> OpenIDClient? {
        audiences.contains { $0.isExactly(id.rawValue) } ? nil : try await store.openIDClient(id)
    }

    /// The client of a request, proven. A wrong secret is recorded for the operator.
    package func authenticate(_ request: ProviderRequest) async throws(ProviderFailure) -> OpenIDClient {
        let now = clock.now()
        let client = try await ProviderFailure.mapping(await client(request.credential.id))
        guard let client else { throw .refused(Self.unknownClient) }
        switch (request.credential, client.secrets) {
        case (.none, nil): return client
        case (.basic(_, let candidates), let secrets?):
            if candidates.contains(where: { secrets.accept($0, at: now) }) { return client }
        case (.post(_, let secret), let secrets?):
            if secrets.accept(secret, at: now) { return client }
        case (.none, _?), (.basic, nil), (.post, nil): break
        }
        await touch(client, isRefused: true, at: now)
        throw .refused(Self.unknownClient)
    }

    private static let unknownClient = ProviderError(.invalidClient, "unknown client, or wrong client authentication")

    /// For the operator's information: a store that cannot write refuses nobody.
    private func touch(_ client: OpenIDClient, isRefused: Bool, at now: Timestamp) async {
        let isDue =
            isRefused
            ? refusals.isDue(client.id, last: client.lastRefusedAt, at: now)
            : uses.isDue(client.id, last: client.lastUsedAt, at: now)
        guard isDue else { return }
        try? await store.touchOpenIDClient(client.id, isRefused: isRefused, at: now)
    }

    // MARK: Tokens

    /// The answer of the token endpoint (OIDC Core §3.1.3.3, §12.2).
    package struct TokenAnswer: Sendable {
        package var access: GrantedAccessToken
        package var idToken: Secret
        package var refresh: GrantedRefreshToken?
        /// Seconds.
        package var expiresIn: Int64
        package var scopes: [OpenIDScope]
    }

    /// - Parameter client: proven.
    package func tokens(
        for request: ProviderRequest, of client: OpenIDClient
    ) async throws(ProviderFailure) -> TokenAnswer {
        let asked: TokenRequest
        do throws(ProviderError) { asked = try TokenRequest(request) } catch { throw .refused(error) }
        let answer: TokenAnswer
        switch asked {
        case .code(let code, let redirectURI, let verifier):
            answer = try await exchange(code, redirectURI: redirectURI, verifier: verifier, client)
        case .refresh(let token, let scopes): answer = try await refresh(token, scopes, client)
        }
        await touch(client, isRefused: false, at: clock.now())
        return answer
    }

    private func exchange(
        _ code: GrantedCode, redirectURI: String, verifier: String?, _ client: OpenIDClient
    ) async throws(ProviderFailure) -> TokenAnswer {
        let now = clock.now()
        let access = GrantedAccessToken.make(code.grant, secret: random.bytes(32))
        let refresh = GrantedRefreshToken.make(code.grant, secret: random.bytes(32))
        let held = try await ProviderFailure.mapping(
            await store.changeGrant(code.grant, at: now) { held -> (GrantChange, HeldGrant?) in
                guard var held, held.grant.client == client.id, constantTimeEquals(held.grant.code.hash, code.hash)
                else { return (.keep, nil) }
                // RFC 6749 §4.1.2: somebody else has it too.
                if held.grant.isCodeUsed { return (.end, nil) }
                guard now < held.grant.code.expiresAt, held.grant.redirectURI.isExactly(redirectURI),
                    Self.proves(verifier, held.grant.challenge), held.user.state == .active, held.sessionEnd != nil,
                    client.admits(groups: held.user.groups)
                else { return (.keep, nil) }
                held.grant.isCodeUsed = true
                held.grant.access = Grant.Token(hash: access.hash, expiresAt: held.accessEnd(at: now))
                held.grant.expiresAt = held.accessEnd(at: now)
                if held.grant.scopes.contains(.offlineAccess) {
                    held.grant.refresh = Grant.Refresh(hash: refresh.hash)
                    held.grant.access?.expiresAt = now.adding(seconds: Self.accessLifetime)
                    held.grant.expiresAt = now.adding(seconds: Self.refreshLifetime)
                }
                return (.replace(held.grant), held)
            })
        guard let held else { throw .refused(TokenRequest.refusedCode) }
        return try await answer(held, access, held.grant.refresh == nil ? nil : refresh, isFirst: true, at: now)
    }

    /// RFC 7636 §4.6. One without the other proves nothing (RFC 9700 §4.8.2).
    private static func proves(_ verifier: String?, _ challenge: String?) -> Bool {
        guard let verifier, let challenge else { return verifier == nil && challenge == nil }
        guard (43...128).contains(verifier.utf8.count) else { return false }
        return constantTimeEquals(
            Array(Base64URL.encode(SHA256.hash(utf8: verifier).bytes).utf8), Array(challenge.utf8))
    }

    private enum Refreshed: Sendable {
        case refused
        case scope
        case renewed(HeldGrant)
    }

    private func refresh(
        _ token: GrantedRefreshToken, _ scopes: [OpenIDScope]?, _ client: OpenIDClient
    ) async throws(ProviderFailure) -> TokenAnswer {
        let now = clock.now()
        // Derived from the old one, so that the same request gets the same answer, in another process too.
        let candidates = successors(of: token)
        let result = try await ProviderFailure.mapping(
            await store.changeGrant(token.grant, at: now) { held -> (GrantChange, Refreshed) in
                guard var held, held.grant.client == client.id, var refresh = held.grant.refresh,
                    now < held.grant.expiresAt, held.user.state == .active, client.admits(groups: held.user.groups)
                else { return (.keep, .refused) }
                guard scopes?.allSatisfy(held.grant.scopes.contains) ?? true else { return (.keep, .scope) }
                if let former = refresh.former, let usedAt = refresh.usedAt, constantTimeEquals(former, token.hash),
                    (0..<Self.refreshGrace * 1_000).contains(now.milliseconds - usedAt.milliseconds)
                {
                    return (.keep, .renewed(held))
                }
                // RFC 9700 §4.14.2: an old one is in two hands.
                guard constantTimeEquals(refresh.hash, token.hash) else { return (.end, .refused) }
                refresh = Grant.Refresh(hash: candidates[0].refresh.hash, former: token.hash, usedAt: now)
                held.grant.refresh = refresh
                held.grant.access = Grant.Token(
                    hash: candidates[0].access.hash, expiresAt: now.adding(seconds: Self.accessLifetime))
                held.grant.expiresAt = now.adding(seconds: Self.refreshLifetime)
                return (.replace(held.grant), .renewed(held))
            })
        switch result {
        case .refused: throw .refused(TokenRequest.refusedRefresh)
        case .scope: throw .refused(ProviderError(.invalidScope, "the scope is wider than what was granted"))
        case .renewed(let held):
            guard let refresh = held.grant.refresh, let usedAt = refresh.usedAt,
                let next = candidates.first(where: { constantTimeEquals($0.refresh.hash, refresh.hash) })
            else { throw .refused(TokenRequest.refusedRefresh) }
            return try await answer(held, next.access, next.refresh, isFirst: false, at: usedAt)
        }
    }

    /// Under each key of the ring, the current one first.
    private func successors(
        of token: GrantedRefreshToken
    ) -> [(access: GrantedAccessToken, refresh: GrantedRefreshToken)] {
        let message = Array(token.reveal().utf8)
        let access = keyring.keyedHashes(of: message, purpose: .other("openid-access-token"))
        let refresh = keyring.keyedHashes(of: message, purpose: .other("openid-refresh-token"))
        return zip(access, refresh).map { (.make(token.grant, secret: $0), .make(token.grant, secret: $1)) }
    }

    private func answer(
        _ held: HeldGrant, _ access: GrantedAccessToken, _ refresh: GrantedRefreshToken?, isFirst: Bool,
        at moment: Timestamp
    ) async throws(ProviderFailure) -> TokenAnswer {
        let idToken = try await ProviderFailure.mapping(
            await tokens.make(of: held, access: access, isFirst: isFirst, at: moment))
        let end = held.grant.access?.expiresAt ?? moment
        return TokenAnswer(
            access: access, idToken: Secret(idToken), refresh: refresh,
            expiresIn: max(0, (end.milliseconds - moment.milliseconds) / 1_000), scopes: held.grant.scopes)
    }

    // MARK: What tokens open

    /// The grant of a live access token; nil for anything else.
    package func grant(access text: String) async throws(StoreError) -> HeldGrant? {
        guard let token = GrantedAccessToken(parsing: text) else { return nil }
        let now = clock.now()
        guard let held = try await store.grant(token.grant, at: now), let access = held.grant.access,
            constantTimeEquals(access.hash, token.hash), now < access.expiresAt, held.isLive
        else { return nil }
        return held
    }

    /// The claims of userinfo (OIDC Core §5.3).
    package func claims(of held: HeldGrant) -> JSONObject { PersonClaims.of(held, held.grant.scopes) }

    /// Ends a token of this client (RFC 7009 §2.1): a refresh token with all that came of its grant, an access token
    /// alone. Unknown ones are ended already.
    package func revoke(_ request: ProviderRequest, of client: OpenIDClient) async throws(ProviderFailure) {
        guard let text = request["token"] else {
            throw .refused(ProviderError(.invalidRequest, "token is missing"))
        }
        let now = clock.now()
        if let token = GrantedRefreshToken(parsing: text) {
            try await ProviderFailure.mapping(
                await store.changeGrant(token.grant, at: now) { held -> (GrantChange, Bool) in
                    guard let held, held.grant.client == client.id, let refresh = held.grant.refresh,
                        [refresh.hash, refresh.former].contains(where: {
                            $0.map { constantTimeEquals($0, token.hash) } ?? false
                        })
                    else { return (.keep, false) }
                    return (.end, true)
                })
        } else if let token = GrantedAccessToken(parsing: text) {
            try await ProviderFailure.mapping(
                await store.changeGrant(token.grant, at: now) { held -> (GrantChange, Bool) in
                    guard var grant = held?.grant, grant.client == client.id, let access = grant.access,
                        constantTimeEquals(access.hash, token.hash)
                    else { return (.keep, false) }
                    grant.access = nil
                    return (.replace(grant), true)
                })
        }
    }
}

extension HeldGrant {
    /// An access token without a refresh token ends with its session.
    fileprivate func accessEnd(at now: Timestamp) -> Timestamp {
        let end = now.adding(seconds: OpenIDProvider.accessLifetime)
        return sessionEnd.map { min(end, $0) } ?? end
    }
}

extension ValidatedAuthorizeRequest {
    /// Whether the session's sign-in is recent enough (OIDC Core §3.1.2.1).
    fileprivate func isAnswered(by session: Session, _ mark: AuthorizeMark?, at now: Timestamp) -> Bool {
        // The sign-in that this request has led to.
        if let mark, session.createdAt >= mark.begunAt { return true }
        if prompt == .login { return false }
        return maximumAge.map { now < session.createdAt.adding(seconds: $0) } ?? true
    }
}
