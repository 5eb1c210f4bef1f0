// The parts of Apple's AuthenticationServices that the client for apps uses, declared as its documentation has them, to
// run it where the framework does not exist. In the system's place a script says what happens.
import Foundation
import UIKit

public typealias ASPresentationAnchor = UIWindow

public class ASAuthorization: NSObject {
    public struct Scope: Hashable, Sendable {
        public static var fullName: Scope { Scope() }
        public static var email: Scope { Scope() }
    }
    public let credential: any ASAuthorizationCredential
    public init(_ credential: any ASAuthorizationCredential) { self.credential = credential }
}

public protocol ASAuthorizationCredential: NSObject {}

public class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
    public let identityToken: Data?
    public let authorizationCode: Data?
    public let fullName: PersonNameComponents?
    public init(identityToken: Data?, authorizationCode: Data?, fullName: PersonNameComponents?) {
        (self.identityToken, self.authorizationCode, self.fullName) = (identityToken, authorizationCode, fullName)
    }
}

public class ASPasswordCredential: NSObject, ASAuthorizationCredential {
    public let user: String
    public let password: String
    public init(user: String, password: String) { (self.user, self.password) = (user, password) }
}

public class ASAuthorizationRequest: NSObject {}

public class ASAuthorizationAppleIDRequest: ASAuthorizationRequest {
    public var requestedScopes: [ASAuthorization.Scope]?
    public var nonce: String?
}

public class ASAuthorizationPasswordRequest: ASAuthorizationRequest {}

public class ASAuthorizationPasswordProvider: NSObject {
    public func createRequest() -> ASAuthorizationPasswordRequest { ASAuthorizationPasswordRequest() }
}

public class ASAuthorizationAppleIDProvider: NSObject {
    public enum CredentialState: Int, Sendable { case revoked, authorized, notFound, transferred }
    public static let credentialRevokedNotification = Notification.Name("revoked")
    /// The script's. Nil: the system cannot tell.
    @MainActor public static var credentialState: CredentialState? = .authorized

    public func createRequest() -> ASAuthorizationAppleIDRequest { ASAuthorizationAppleIDRequest() }
    public func credentialState(forUserID userID: String) async throws -> CredentialState {
        guard let state = await Self.credentialState else { throw ASAuthorizationError(.unknown) }
        return state
    }
}

@MainActor public protocol ASAuthorizationControllerDelegate: AnyObject {
    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)
    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

@MainActor public protocol ASAuthorizationControllerPresentationContextProviding: AnyObject {
    func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}

@MainActor public class ASAuthorizationController: NSObject {
    public struct RequestOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let preferImmediatelyAvailableCredentials = RequestOptions(rawValue: 1)
    }
    /// The script's: a sheet is wanted.
    public static var onSheet: (ASAuthorizationController, RequestOptions) -> Void = { _, _ in }

    public let authorizationRequests: [ASAuthorizationRequest]
    public weak var delegate: (any ASAuthorizationControllerDelegate)?
    public weak var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)?
    public init(authorizationRequests: [ASAuthorizationRequest]) { self.authorizationRequests = authorizationRequests }
    public func performRequests(options: RequestOptions = []) { Self.onSheet(self, options) }
}

public struct ASAuthorizationError: Error {
    public enum Code: Int, Sendable {
        case unknown = 1000, canceled, invalidResponse, notHandled, failed, notInteractive, matchedExcludedCredential,
            credentialImport, credentialExport
        @available(iOS 26, macOS 26, visionOS 26, *)
        case preferSignInWithApple
    }
    public let code: Code
    public init(_ code: Code) { self.code = code }
}

public class ASCredentialServiceIdentifier: NSObject {
    public enum IdentifierType: Int, Sendable { case domain, URL }
    public let identifier: String
    public init(identifier: String, type: IdentifierType) { self.identifier = identifier }
}

public struct ASExtensionError: Error, Equatable {
    public enum Code: Int, Sendable {
        case failed = 0, userCanceled, userInteractionRequired = 100, credentialIdentityNotFound,
            matchedExcludedCredential
    }
    public let code: Code
    public init(_ code: Code) { self.code = code }
}

public class ASAccountAuthenticationModificationExtensionContext: NSObject {
    public typealias Handler = (ASAuthorizationAppleIDCredential?, (any Error)?) -> Void
    /// The script's: Apple's sheet is wanted with this nonce; the request has ended, with an error or without.
    public var onSheet: (String?, @escaping Handler) -> Void = { _, _ in }
    public var onEnd: ((any Error)?) -> Void = { _ in }

    public func getSignInWithAppleUpgradeAuthorization(
        state: String?, nonce: String?, completionHandler: @escaping Handler
    ) { onSheet(nonce, completionHandler) }
    public func completeUpgradeToSignInWithApple(userInfo: [AnyHashable: Any]? = nil) { onEnd(nil) }
    public func cancelRequest(withError error: any Error) { onEnd(error) }
}

open class ASAccountAuthenticationModificationViewController: UIViewController {
    public let extensionContext = ASAccountAuthenticationModificationExtensionContext()

    open func convertAccountToSignInWithAppleWithoutUserInteraction(
        for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
        userInfo: [AnyHashable: Any]? = nil
    ) {}
    open func prepareInterfaceToConvertAccountToSignInWithApple(
        for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
        userInfo: [AnyHashable: Any]? = nil
    ) {}
    open func cancelRequest() { extensionContext.cancelRequest(withError: ASExtensionError(.userCanceled)) }
}
