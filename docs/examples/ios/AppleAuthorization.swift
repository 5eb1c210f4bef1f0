import AuthenticationServices
import CryptoKit
import Foundation

/// One request to Apple, from the sheet to its answer.
@MainActor
final class AppleAuthorization: NSObject, ASAuthorizationControllerDelegate,
    ASAuthorizationControllerPresentationContextProviding
{
    private let anchor: ASPresentationAnchor
    private var continuation: CheckedContinuation<ASAuthorizationAppleIDCredential, any Error>?

    /// - Parameter anchor: the window that shows the sheet.
    init(anchor: ASPresentationAnchor) { self.anchor = anchor }

    /// Shows Apple's sheet.
    /// - Parameter challenge: from the server. Apple gets its SHA-256 (`apple.nativeNonce`: `sha256`).
    /// - Throws: `ASAuthorizationError`; `.canceled` if the person closed the sheet.
    func request(_ challenge: Challenge, scopes: [ASAuthorization.Scope]) async throws
        -> ASAuthorizationAppleIDCredential
    {
        let request = ASAuthorizationAppleIDProvider().createRequest()
        request.requestedScopes = scopes
        request.nonce = SHA256.hash(data: Data(challenge.nonce.utf8)).map { String(format: "%02x", $0) }.joined()
        let controller = ASAuthorizationController(authorizationRequests: [request])
        controller.delegate = self
        controller.presentationContextProvider = self
        return try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            controller.performRequests()
        }
    }

    func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor { anchor }

    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
    ) {
        if let credential = authorization.credential as? ASAuthorizationAppleIDCredential {
            continuation?.resume(returning: credential)
        } else {
            continuation?.resume(throwing: ASAuthorizationError(.unknown))
        }
        continuation = nil
    }

    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
        continuation?.resume(throwing: error)
        continuation = nil
    }
}

extension SignInRequest {
    /// - Throws: `ASAuthorizationError` if Apple's answer has no token or code.
    init(_ credential: ASAuthorizationAppleIDCredential, challenge: Challenge) throws {
        guard let token = credential.identityToken, let code = credential.authorizationCode else {
            throw ASAuthorizationError(.invalidResponse)
        }
        self.init(
            identityToken: String(decoding: token, as: UTF8.self),
            authorizationCode: String(decoding: code, as: UTF8.self), nonce: challenge.nonce)
        if let name = credential.fullName, name.givenName != nil || name.familyName != nil {
            user = Name(givenName: name.givenName, familyName: name.familyName)
        }
    }
}
