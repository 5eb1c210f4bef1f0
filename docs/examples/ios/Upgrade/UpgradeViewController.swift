import AuthenticationServices
import CryptoKit
import Foundation
import UIKit

/// Replaces a password that the system has saved by Sign in with Apple: the principal class of an Account Authentication
/// Modification Extension.
class UpgradeViewController: ASAccountAuthenticationModificationViewController {
    /// Write your server's address here.
    var server: URL { URL(string: "https://id.example.com")! }

    private lazy var client = UpgradeClient(server: server)
    /// What is under way. The system shows one request at a time.
    private var work: Task<Void, Never>?
    /// An upgrade that waits for a code.
    private var waiting: Upgrade?
    private lazy var form = CodeForm { [weak self] code in self?.send(code) }

    // MARK: The system's three calls

    /// One tap: the person sees Apple's sheet and nothing of ours. Whoever needs a second factor is asked anew, below.
    override func convertAccountToSignInWithAppleWithoutUserInteraction(
        for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
        userInfo: [AnyHashable: Any]? = nil
    ) {
        let (user, password) = (existingCredential.user, password(existingCredential, userInfo))
        perform { controller in
            switch try await controller.client.begin(username: user, password: password) {
            case .success(let upgrade, let nonce): try await controller.finish(upgrade, nonce: nonce)
            case .twoFactorAuthRequired: throw ASExtensionError(.userInteractionRequired)
            case .failure: throw ASExtensionError(.failed)
            }
        }
    }

    /// The same once more, in a fresh process perhaps, with our view on the screen: the place for a code.
    override func prepareInterfaceToConvertAccountToSignInWithApple(
        for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
        userInfo: [AnyHashable: Any]? = nil
    ) {
        let (user, password) = (existingCredential.user, password(existingCredential, userInfo))
        form.fill(view)
        perform { controller in
            let answer = try await controller.client.begin(username: user, password: password)
            // Here a failure is the password's, and no other code would help.
            guard case .failure = answer else { return try await controller.goOn(answer) }
            throw ASExtensionError(.failed)
        }
    }

    /// The person closed our view. What was begun is left to expire; the password works as before.
    override func cancelRequest() {
        work?.cancel()
        waiting = nil
        // Answers the system with `.userCanceled`.
        super.cancelRequest()
    }

    // MARK: Steps

    private func send(_ code: String) {
        guard let waiting else { return }
        self.waiting = nil
        perform { controller in
            let answer = try await controller.client.secondFactor(waiting, code: code)
            guard case .failure = answer else { return try await controller.goOn(answer) }
            // A slip of the finger. The server ends the upgrade after some tries, and says so with an error.
            controller.wait(for: waiting, "This code is not right. Please try again.")
        }
    }

    private func goOn(_ answer: UpgradeAnswer) async throws {
        switch answer {
        case .success(let upgrade, let nonce): try await finish(upgrade, nonce: nonce)
        case .twoFactorAuthRequired(let upgrade, let methods):
            form.takes(methods)
            wait(for: upgrade, CodeForm.question(methods))
        case .failure: throw ASExtensionError(.failed)
        }
    }

    private func wait(for upgrade: Upgrade, _ text: String) {
        waiting = upgrade
        form.ask(text)
    }

    /// Apple's sheet, then the server, and the system last: at its word the password leaves the Keychain.
    private func finish(_ upgrade: Upgrade, nonce: String) async throws {
        let proof = try await authorization(nonce: nonce)
        let session = try await client.complete(upgrade, with: proof)
        // For the app, if it shares a keychain group with this extension: it finds somebody signed in.
        try? KeychainItem(account: "session").write(JSONEncoder().encode(session))
        extensionContext.completeUpgradeToSignInWithApple(userInfo: nil)
    }

    /// Shows Apple's sheet. Our view, if any, goes away by itself.
    /// - Throws: what the system says, `ASExtensionError(.userCanceled)` when the person closed the sheet.
    private func authorization(nonce: String) async throws -> UpgradeProof {
        // `apple.nativeNonce`: `sha256`.
        let hashed = SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
        return try await withCheckedThrowingContinuation { continuation in
            extensionContext.getSignInWithAppleUpgradeAuthorization(state: nil, nonce: hashed) {
                @Sendable credential, error in
                continuation.resume(with: Result { try UpgradeProof(credential, error) })
            }
        }
    }

    /// Runs one step, and tells the system if it does not end well.
    private func perform(_ step: @escaping @MainActor (UpgradeViewController) async throws -> Void) {
        work = Task {
            do {
                try await step(self)
            } catch {
                // The system has its answer already.
                guard !Task.isCancelled else { return }
                extensionContext.cancelRequest(withError: ASExtensionError(Self.code(of: error)))
            }
        }
    }

    /// Two things the system must know; whatever else it was, the password works as before.
    private static func code(of error: any Error) -> ASExtensionError.Code {
        switch (error as? ASExtensionError)?.code {
        case .userInteractionRequired?: .userInteractionRequired
        case .userCanceled?: .userCanceled
        default: .failed
        }
    }

    /// The system gives the saved password. An app that asked for this by itself gives it in `userInfo`, if it knows it.
    private func password(_ credential: ASPasswordCredential, _ userInfo: [AnyHashable: Any]?) -> String {
        credential.password.isEmpty ? userInfo?["password"] as? String ?? "" : credential.password
    }
}

extension UpgradeProof {
    init(_ credential: ASAuthorizationAppleIDCredential?, _ error: (any Error)?) throws {
        guard let token = credential?.identityToken, let code = credential?.authorizationCode else {
            throw error ?? ASExtensionError(.failed)
        }
        self.init(
            identityToken: String(decoding: token, as: UTF8.self),
            authorizationCode: String(decoding: code, as: UTF8.self))
        if let name = credential?.fullName, name.givenName != nil || name.familyName != nil {
            user = SignInRequest.Name(givenName: name.givenName, familyName: name.familyName)
        }
    }
}
