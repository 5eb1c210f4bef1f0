#if canImport(AuthenticationServices)
    import AuthenticationServices
    import CryptoKit
    import Foundation

    /// What Apple's sheet gave.
    public enum AppleAnswer: Sendable {
        case apple(identityToken: String, authorizationCode: String, name: SignInRequest.Name?)
        /// A password that iCloud Keychain has saved for your domain: for your own backend, never for Bramley.
        case password(user: String, password: String)

        /// - Throws: `ASAuthorizationError` if a token or code is missing, or nothing known was given.
        public init(_ credential: any ASAuthorizationCredential) throws {
            switch credential {
            case let saved as ASPasswordCredential: self = .password(user: saved.user, password: saved.password)
            case let given as ASAuthorizationAppleIDCredential:
                guard let token = given.identityToken, let code = given.authorizationCode else {
                    throw ASAuthorizationError(.invalidResponse)
                }
                self = .apple(
                    identityToken: String(decoding: token, as: UTF8.self),
                    authorizationCode: String(decoding: code, as: UTF8.self), name: given.fullName.flatMap(Self.name))
            default: throw ASAuthorizationError(.unknown)
            }
        }

        private static func name(_ name: PersonNameComponents) -> SignInRequest.Name? {
            guard name.givenName != nil || name.familyName != nil else { return nil }
            return SignInRequest.Name(givenName: name.givenName, familyName: name.familyName)
        }
    }

    extension SignInRequest {
        /// Nil for a saved password.
        init?(_ answer: AppleAnswer, _ challenge: Challenge) {
            guard case .apple(let token, let code, let name) = answer else { return nil }
            self.init(identityToken: token, authorizationCode: code, nonce: challenge.nonce, user: name)
        }
    }

    extension Challenge {
        /// For `ASAuthorizationAppleIDRequest.nonce`: the SHA-256 (`apple.nativeNonce`: `sha256`).
        public var forApple: String { Challenge.forApple(nonce) }

        static func forApple(_ nonce: String) -> String {
            SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
        }
    }

    /// Shows Apple's sheet: `AuthorizationController.sheet` in SwiftUI, `AppleAuthorization.sheet(over:)` elsewhere.
    public typealias AppleSheet =
        @MainActor ([ASAuthorizationRequest], ASAuthorizationController.RequestOptions) async throws -> AppleAnswer

    /// One request to Apple, from the sheet to its answer.
    @MainActor
    public final class AppleAuthorization: NSObject, ASAuthorizationControllerDelegate,
        ASAuthorizationControllerPresentationContextProviding
    {
        private let anchor: ASPresentationAnchor
        private var continuation: CheckedContinuation<AppleAnswer, any Error>?

        private init(_ anchor: ASPresentationAnchor) { self.anchor = anchor }

        /// - Parameter anchor: the window that shows the sheet.
        public static func sheet(over anchor: ASPresentationAnchor) -> AppleSheet {
            { requests, options in try await AppleAuthorization(anchor).perform(requests, options) }
        }

        private func perform(
            _ requests: [ASAuthorizationRequest], _ options: ASAuthorizationController.RequestOptions
        ) async throws -> AppleAnswer {
            let controller = ASAuthorizationController(authorizationRequests: requests)
            controller.delegate = self
            controller.presentationContextProvider = self
            return try await withCheckedThrowingContinuation { continuation in
                self.continuation = continuation
                controller.performRequests(options: options)
            }
        }

        public func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor { anchor }

        public func authorizationController(
            controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
        ) {
            continuation?.resume(with: Result { try AppleAnswer(authorization.credential) })
            continuation = nil
        }

        public func authorizationController(
            controller: ASAuthorizationController, didCompleteWithError error: any Error
        ) {
            continuation?.resume(throwing: error)
            continuation = nil
        }
    }

    extension ASAuthorizationError {
        /// Whether your app's own sign-up with a passkey (`ASAuthorizationAccountCreationProvider`, iOS 26) ended because
        /// the person already signs in with Apple here: call `AccountModel.signIn` instead.
        public var prefersSignInWithApple: Bool {
            guard #available(iOS 26, macOS 26, visionOS 26, *) else { return false }
            return code == .preferSignInWithApple
        }
    }
#endif
