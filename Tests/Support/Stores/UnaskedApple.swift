package import Accounts

/// What the Apple of a test is not asked: each conformer implements what it is asked.
extension IdentityProvider {
    package var servicesID: ClientID { ClientID("com.example.web") }
    package var bundleIDs: [ClientID] { [ClientID("com.example.app")] }
    package var team: TeamID { TestDatabase.team }

    package func authorizeURL(state: String, nonce: String) -> String { "https://apple.test/?state=\(state)" }

    package func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        throw Failure(.malformedCallback, "not asked here")
    }

    package func claimedSubject(of identityToken: String) -> AppleSubject? { nil }

    package func displayName(given: String?, family: String?) -> PersonName { PersonName(given: given, family: family) }

    package func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims { throw Failure(.identityToken, "not asked here") }

    package func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity { throw Failure(.codeRefused, "not asked here") }

    package func redeem(
        authorizationCode: String, nonce: String?, clientID: ClientID
    ) async throws(Failure) -> VerifiedIdentity { throw Failure(.codeRefused, "not asked here") }

    package func verifyNotification(_ body: [UInt8]) async throws(Failure) -> VerifiedNotification {
        throw Failure(.notificationRefused, "not asked here")
    }

    package func check(_ token: RefreshToken, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure) {
        throw .clientRefused("not asked here")
    }

    package func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenFailure) {
        throw .clientRefused("not asked here")
    }

    package func prepareTransfer(as clientID: ClientID) async throws(MigrationFailure) {
        throw .clientRefused("not asked here")
    }

    package func transferSubject(
        of subject: AppleSubject, to recipient: TeamID, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferSubject { throw .clientRefused("not asked here") }

    package func identity(
        of transferSubject: TransferSubject, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferredIdentity { throw .clientRefused("not asked here") }
}
