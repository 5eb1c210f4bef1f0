// The parts of Apple's AuthenticationServices that the sample's extension uses, declared as its documentation has them,
// to run the extension where the framework does not exist. In the system's place a script says what happens.
import Foundation
import UIKit

public class ASCredentialServiceIdentifier: NSObject {
    public enum IdentifierType: Int, Sendable { case domain, URL }
    public let identifier: String
    public init(identifier: String, type: IdentifierType) { self.identifier = identifier }
}

public class ASPasswordCredential: NSObject {
    public let user: String
    public let password: String
    public init(user: String, password: String) { (self.user, self.password) = (user, password) }
}

public class ASAuthorizationAppleIDCredential: NSObject {
    public let identityToken: Data?
    public let authorizationCode: Data?
    public let fullName: PersonNameComponents?
    public init(identityToken: Data?, authorizationCode: Data?, fullName: PersonNameComponents?) {
        (self.identityToken, self.authorizationCode, self.fullName) = (identityToken, authorizationCode, fullName)
    }
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
