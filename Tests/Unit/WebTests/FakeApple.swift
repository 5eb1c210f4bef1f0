import Coding
import Stores
import Synchronization

@testable import Accounts

/// An Apple that believes every token, reads the form plainly, and fails on demand.
final class FakeApple: IdentityProvider, Sendable {
    let bundleIDs = [ClientID("com.example.app"), ClientID("com.example.other")]
    let verifyFailure = Mutex<Failure?>(nil)
    let exchangeFailure = Mutex<Failure?>(nil)
    let notificationFailure = Mutex<Failure?>(nil)
    let notificationIsOfOtherApp = Mutex(false)
    /// How many bodies were parsed as a callback.
    let parsedForms = Mutex(0)

    func authorizeURL(state: String, nonce: String) -> String {
        "https://appleid.apple.com/auth/authorize?state=\(PercentEncoding.encodeComponent(state))&nonce=\(nonce)"
    }

    func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        parsedForms.withLock { $0 += 1 }
        guard let fields = try? FormDecoder.parse(body) else { throw Failure(.malformedCallback, "no form") }
        var form = CallbackForm(isRepost: false)
        for field in fields {
            switch field.name {
            case "state": form.state = field.value
            case "code": form.code = field.value
            case "id_token": form.identityToken = field.value
            case "user":
                form.rawUser = field.value
                form.name = PersonName(given: "Anna")
            case "error": form.error = field.value
            case "bramley_repost": form.isRepost = field.value == "1"
            default: continue
            }
        }
        return form
    }

    func claimedSubject(of identityToken: String) -> AppleSubject? { AppleSubject("001.sub") }

    func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims {
        if let failure = verifyFailure.withLock({ $0 }) { throw failure }
        return IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: clientIDs[0], subject: AppleSubject("001.sub"),
            issuedAt: Timestamp(seconds: 1_790_000_000),
            email: EmailAddress(address: "anna@example.com", isVerified: true, isPrivate: false))
    }

    func redeem(
        authorizationCode: String, nonce: String?, clientID: ClientID
    ) async throws(Failure) -> VerifiedIdentity {
        if let failure = exchangeFailure.withLock({ $0 }) { throw failure }
        let claims = IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: clientID,
            subject: AppleSubject(authorizationCode.hasPrefix("other") ? "002.sub" : "001.sub"),
            issuedAt: Timestamp(seconds: 1_790_000_000))
        return VerifiedIdentity(claims: claims, refreshToken: RefreshToken("r.secret"))
    }

    func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        if let failure = exchangeFailure.withLock({ $0 }) { throw failure }
        return VerifiedIdentity(claims: claims, refreshToken: nil)
    }

    func verifyNotification(_ body: [UInt8]) async throws(Failure) -> VerifiedNotification {
        if let failure = notificationFailure.withLock({ $0 }) { throw failure }
        if notificationIsOfOtherApp.withLock({ $0 }) { return .ofOtherApp("x") }
        var notification = AppleNotification(
            id: "jti", type: "consent-revoked", clientID: servicesID, eventTime: Timestamp(seconds: 1_790_000_000),
            payload: "{}")
        notification.subject = AppleSubject("001.sub")
        return .ours(notification)
    }
}
