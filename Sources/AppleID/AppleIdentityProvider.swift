package import Accounts
import Coding
package import HTTP
package import Storage
import Synchronization

/// Apple as the domain's identity provider. Extensions beside this file hold one endpoint or token each.
package final class AppleIdentityProvider: IdentityProvider {
    let configuration: AppleConfiguration
    /// Apple's public keys; exposed for `prepare()` at start and for readiness.
    package let keys: AppleKeySet
    package let calls = AppleCallMetrics()

    let client: TokenClient
    let clock: any WallClock
    /// Signatures verified in this second only to log which app a refused notification is for.
    let unlistedChecks = Mutex((second: Int64.min, count: 0))
    let accessToken = Mutex<AccessToken?>(nil)

    package init(
        configuration: AppleConfiguration, transport: any HTTPTransport, archive: any KeySetArchive, runtime: Runtime,
        pause: @escaping KeySetPause = { _ in false }
    ) {
        self.configuration = configuration
        clock = runtime.clock
        let endpoints = AppleEndpointClient(
            transport: transport, endpoint: configuration.endpoint, userAgent: configuration.userAgent,
            metrics: calls, clock: runtime.clock)
        keys = AppleKeySet(archive: archive, runtime: runtime, pause: pause, fetch: endpoints.keySet)
        client = TokenClient(client: endpoints, secrets: ClientSecretMint(configuration, runtime))
    }

    package var servicesID: ClientID { configuration.servicesID }
    package var bundleIDs: [ClientID] { configuration.bundleIDs }
    package var team: TeamID { configuration.team }
    /// The client secrets; exposed for commands that call Apple.
    package var secrets: ClientSecretMint { client.secrets }

    /// The request to `/auth/authorize` that sends a browser to Apple. Always `form_post`, required for name or email,
    /// which keeps code and token out of URLs. Spaces are `%20`; for `+` Apple shows an error page.
    package func authorizeURL(state: String, nonce: String) -> String {
        let scope = configuration.scopes.isEmpty ? [] : [("scope", configuration.scopes.joined(separator: " "))]
        let parameters =
            [
                ("client_id", servicesID.rawValue), ("redirect_uri", configuration.redirectURI),
                ("response_type", "code id_token"), ("state", state),
            ] + scope + [("response_mode", "form_post"), ("nonce", nonce)]
        return configuration.endpoint.base + "/auth/authorize?"
            + parameters.map { "\($0)=\(PercentEncoding.encodeComponent($1))" }.joined(separator: "&")
    }

    package func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        try CallbackFormParser.parse(body)
    }

    package func claimedSubject(of identityToken: String) -> AppleSubject? {
        CallbackFormParser.claimedSubject(of: identityToken)
    }

    package func displayName(given: String?, family: String?) -> PersonName {
        PersonName(given: given.flatMap(DisplayName.sanitize), family: family.flatMap(DisplayName.sanitize))
    }

    package func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims {
        try await verify(identityToken, for: clientIDs, .front(nonce: nonce, authorizationCode: authorizationCode))
    }

    package func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        let back = try await redeem(authorizationCode: authorizationCode, nonce: nonce, clientID: claims.clientID)
        return VerifiedIdentity(claims: try claims.confirmed(by: back.claims), refreshToken: back.refreshToken)
    }

    package func redeem(
        authorizationCode: String, nonce: String?, clientID: ClientID
    ) async throws(Failure) -> VerifiedIdentity {
        let answer =
            keys.beginRenewal()
            ? try await redeemAndRenew(code: authorizationCode, for: clientID)
            : try await redeem(code: authorizationCode, for: clientID)
        let claims = try await verify(
            answer.identityToken, for: [clientID], .back(nonce: nonce, accessToken: answer.accessToken))
        return VerifiedIdentity(claims: claims, refreshToken: answer.refreshToken)
    }

    /// Renews the keys hourly alongside an exchange, during which a visitor waits for Apple anyway.
    private func redeemAndRenew(code: String, for clientID: ClientID) async throws(Failure) -> TokenResponse {
        async let renewal: Void = keys.renew()
        let redeemed = await Result { () async throws(Failure) in try await redeem(code: code, for: clientID) }
        // Awaited in either case: leaving the scope by a throw would cancel the renewal.
        await renewal
        return try redeemed.get()
    }

    package func verifyNotification(_ body: [UInt8]) async throws(Failure) -> VerifiedNotification {
        let notification = try await translating(await notification(in: body), \Failure.ofNotification)
        if case .ours = notification { await keys.renewIfDue() }
        return notification
    }
}
