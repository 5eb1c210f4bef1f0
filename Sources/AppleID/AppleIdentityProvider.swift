package import Accounts
package import Coding
import Crypto
package import HTTP
import HTTPTypes
package import Logging

/// Apple as the domain's identity provider: connects the parts of this module.
package final class AppleIdentityProvider: IdentityProvider {
    package let servicesID: ClientID
    package let bundleIDs: [ClientID]
    package let team: TeamID
    /// Apple's public keys; exposed for `prepare()` at start and for readiness.
    package let keys: AppleKeySet
    /// The client secrets; exposed for commands that call Apple.
    package let secrets: ClientSecretMint
    /// Counts requests to Apple.
    package let calls = AppleCallMetrics()

    private let tokens: TokenClient
    private let authorizeRequest: AuthorizeRequest
    private let identityTokens: IdentityTokenVerifier
    private let notifications: AppleNotificationVerifier
    private let tokenExchange: TokenExchange
    private let tokenCheck: TokenCheck
    private let migration: TeamMigration

    package init(
        configuration: AppleConfiguration, transport: any HTTPTransport, archive: any KeySetArchive,
        keySetPolicy: KeySetPolicy = KeySetPolicy(), clock: any WallClock,
        pause: @escaping KeySetPause = { _ in false }, logger: Logger
    ) {
        servicesID = configuration.servicesID
        bundleIDs = configuration.bundleIDs
        team = configuration.team
        let client = AppleEndpointClient(
            transport: transport, endpoint: configuration.endpoint, userAgent: configuration.userAgent,
            metrics: calls, clock: clock)
        keys = AppleKeySet(
            source: KeySetEndpoint(client: client), archive: archive, policy: keySetPolicy, clock: clock,
            pause: pause, logger: logger)
        // Never empty: AppleConfiguration refuses that.
        secrets = ClientSecretMint(
            team: configuration.team, audience: configuration.issuers[0], keys: configuration.signingKeys, clock: clock,
            logger: logger)
        let signatures = AppleTokenVerifier(keys: keys)
        authorizeRequest = AuthorizeRequest(configuration: configuration)
        identityTokens = IdentityTokenVerifier(issuers: configuration.issuers, clock: clock, signatures: signatures)
        notifications = AppleNotificationVerifier(
            issuers: configuration.issuers, clientIDs: configuration.clientIDs, clock: clock, signatures: signatures)
        tokens = TokenClient(client: client, secrets: secrets)
        tokenExchange = TokenExchange(
            client: tokens, servicesID: configuration.servicesID, redirectURI: configuration.redirectURI)
        tokenCheck = TokenCheck(client: tokens, identityTokens: identityTokens, clock: clock)
        migration = TeamMigration(client: tokens, clock: clock)
    }

    package func authorizeURL(state: String, nonce: String) -> String {
        authorizeRequest.url(state: state, nonce: nonce)
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
        let expectation = IdentityTokenExpectation(
            clientIDs: clientIDs, nonce: nonce, channel: .front(authorizationCode: authorizationCode))
        return try await verify(identityToken, expectation)
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
        let response =
            keys.beginRenewal()
            ? try await redeemAndRenew(code: authorizationCode, for: clientID)
            : try await tokenExchange.redeem(code: authorizationCode, for: clientID)
        let expectation = IdentityTokenExpectation(
            clientIDs: [clientID], nonce: nonce, channel: .back(accessToken: response.accessToken))
        let claims = try await verify(response.identityToken, expectation)
        return VerifiedIdentity(claims: claims, refreshToken: response.refreshToken)
    }

    /// Renews the keys hourly alongside an exchange, during which a visitor waits for Apple anyway.
    private func redeemAndRenew(code: String, for clientID: ClientID) async throws(Failure) -> TokenResponse {
        async let renewal: Void = keys.renew()
        let redeemed = await Result { () async throws(Failure) in
            try await tokenExchange.redeem(code: code, for: clientID)
        }
        // Awaited in either case: leaving the scope by a throw would cancel the renewal.
        await renewal
        return try redeemed.get()
    }

    package func verifyNotification(_ body: [UInt8]) async throws(NotificationFailure) -> AppleNotification {
        do throws(TokenRefusal) {
            let notification = try await notifications.verify(body)
            await keys.renewIfDue()
            return notification
        } catch {
            throw error.notificationFailure
        }
    }

    private func verify(
        _ token: String, _ expectation: IdentityTokenExpectation
    ) async throws(Failure) -> IdentityClaims {
        do throws(TokenRefusal) {
            return try await identityTokens.verify(token, expectation)
        } catch {
            throw error.signInFailure
        }
    }

    package func check(_ token: RefreshToken, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure) {
        try await tokenCheck.check(token, of: subject, as: clientID)
        await keys.renewIfDue()
    }

    package func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenFailure) {
        try await tokens.revoke(token, for: clientID)
    }

    package func prepareTransfer(as clientID: ClientID) async throws(MigrationFailure) {
        try await migration.prepare(as: clientID)
    }

    package func transferSubject(
        of subject: AppleSubject, to recipient: TeamID, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferSubject {
        try await migration.transferSubject(of: subject, to: recipient, as: clientID)
    }

    package func identity(
        of transferSubject: TransferSubject, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferredIdentity {
        try await migration.identity(of: transferSubject, as: clientID)
    }
}

/// `/auth/keys`.
struct KeySetEndpoint: KeySetSource {
    let client: AppleEndpointClient

    func fetch() async throws(KeySetFailure) -> [UInt8] {
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.get("/auth/keys")
        } catch {
            throw .unavailable("key endpoint: \(error)")
        }
        return try Self.content(of: response)
    }

    /// The bytes of a valid answer with a key set.
    static func content(of response: ClientResponse) throws(KeySetFailure) -> [UInt8] {
        guard response.status.code == 200 else { throw .unavailable("key endpoint: status \(response.status.code)") }
        guard response.looksLikeJSONObject else { throw .unavailable("key endpoint: content is not JSON") }
        return response.body
    }
}
