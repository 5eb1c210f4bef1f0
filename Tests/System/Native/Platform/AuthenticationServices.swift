// Declarations of the parts of Apple's AuthenticationServices that the sample uses, as its documentation has them, to
// type-check the sample where the framework does not exist. Nothing here does anything.
import Foundation

public class ASPresentationAnchor: NSObject {}

public class ASAuthorization: NSObject {
    public struct Scope: Hashable, Sendable {
        public static var fullName: Scope { Scope() }
        public static var email: Scope { Scope() }
    }
    public var credential: any ASAuthorizationCredential { fatalError() }
}

public protocol ASAuthorizationCredential {}

public class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
    public var user: String { fatalError() }
    public var identityToken: Data? { fatalError() }
    public var authorizationCode: Data? { fatalError() }
    public var fullName: PersonNameComponents? { fatalError() }
    public var email: String? { fatalError() }
}

public class ASAuthorizationRequest: NSObject {}

public class ASAuthorizationAppleIDRequest: ASAuthorizationRequest {
    public var requestedScopes: [ASAuthorization.Scope]?
    public var nonce: String?
    public var state: String?
}

public class ASAuthorizationAppleIDProvider: NSObject {
    public enum CredentialState: Int, Sendable { case revoked, authorized, notFound, transferred }
    public static let credentialRevokedNotification = Notification.Name("revoked")
    public func createRequest() -> ASAuthorizationAppleIDRequest { fatalError() }
    public func credentialState(forUserID userID: String) async throws -> CredentialState { fatalError() }
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
    public init(authorizationRequests: [ASAuthorizationRequest]) {}
    public weak var delegate: (any ASAuthorizationControllerDelegate)?
    public weak var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)?
    public func performRequests() {}
}

public struct ASAuthorizationError: Error {
    public enum Code: Int, Sendable { case unknown = 1000, canceled, invalidResponse, notHandled, failed }
    public init(_ code: Code) {}
}
