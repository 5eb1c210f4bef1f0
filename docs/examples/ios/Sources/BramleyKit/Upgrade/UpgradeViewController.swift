#if canImport(UIKit) && canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    import UIKit

    /// Replaces a password saved by the system with Sign in with Apple. Its subclass is the principal class of an Account
    /// Authentication Modification Extension.
    open class UpgradeViewController: ASAccountAuthenticationModificationViewController {
        private lazy var client = makeClient()
        /// The current step. The system makes one request at a time.
        private var work: Task<Void, Never>?
        /// Of a password that waits for its code.
        private var challenge: String?
        private lazy var form = CodeForm { [weak self] code in self?.send(code) }

        /// Override it with your application's address and Bramley's.
        open func makeClient() -> UpgradeClient { preconditionFailure("Override makeClient().") }

        // MARK: The system's three calls

        /// One tap: the person sees only Apple's sheet. If a second factor is needed, the system makes the next call.
        open override func convertAccountToSignInWithAppleWithoutUserInteraction(
            for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
            userInfo: [AnyHashable: Any]? = nil
        ) {
            let (user, password) = (existingCredential.user, password(existingCredential, userInfo))
            perform { controller in
                switch try await controller.client.begin(name: user, password: password) {
                case .success(let upgrade): try await controller.finish(upgrade)
                case .twoFactorAuthRequired: throw ASExtensionError(.userInteractionRequired)
                case .failure: throw ASExtensionError(.failed)
                }
            }
        }

        /// The same with our view on the screen, perhaps in a new process. The view asks for a code.
        open override func prepareInterfaceToConvertAccountToSignInWithApple(
            for serviceIdentifier: ASCredentialServiceIdentifier, existingCredential: ASPasswordCredential,
            userInfo: [AnyHashable: Any]? = nil
        ) {
            let (user, password) = (existingCredential.user, password(existingCredential, userInfo))
            form.fill(view)
            perform { controller in
                let answer = try await controller.client.begin(name: user, password: password)
                // A failure here means that the password is wrong, so a code would not help.
                guard case .failure = answer else { return try await controller.goOn(answer) }
                throw ASExtensionError(.failed)
            }
        }

        /// The person closed our view. The upgrade expires; the password works as before.
        open override func cancelRequest() {
            work?.cancel()
            challenge = nil
            // Answers the system with `.userCanceled`.
            super.cancelRequest()
        }

        // MARK: Steps

        private func send(_ code: String) {
            guard let challenge else { return }
            self.challenge = nil
            perform { controller in
                let answer = try await controller.client.secondFactor(challenge: challenge, code: code)
                guard case .failure = answer else { return try await controller.goOn(answer) }
                // The person may try again. After some tries your application takes no code of this challenge any more.
                controller.wait(for: challenge, "This code is wrong. Please try again.")
            }
        }

        private func goOn(_ answer: UpgradeAnswer) async throws {
            switch answer {
            case .success(let upgrade): try await finish(upgrade)
            case .twoFactorAuthRequired(let challenge, let methods):
                form.takes(methods)
                wait(for: challenge, CodeForm.question(methods))
            case .failure: throw ASExtensionError(.failed)
            }
        }

        private func wait(for challenge: String, _ text: String) {
            self.challenge = challenge
            form.ask(text)
        }

        /// Shows Apple's sheet, completes the upgrade, and reports to the system last: it then deletes the saved password.
        /// The app signs in with Apple at its next launch.
        private func finish(_ upgrade: Upgrade) async throws {
            let proof = try await authorization(nonce: upgrade.nonce)
            try await client.complete(upgrade, with: proof)
            extensionContext.completeUpgradeToSignInWithApple(userInfo: nil)
        }

        /// Shows Apple's sheet. The system closes our view, if any.
        /// - Throws: the system's error; `ASExtensionError(.userCanceled)` if the person closed the sheet.
        private func authorization(nonce: String) async throws -> LinkProof {
            try await withCheckedThrowingContinuation { continuation in
                extensionContext.getSignInWithAppleUpgradeAuthorization(state: nil, nonce: Challenge.forApple(nonce)) {
                    @Sendable credential, error in
                    continuation.resume(with: Result { try LinkProof(credential, error) })
                }
            }
        }

        /// Runs one step and reports failures to the system.
        private func perform(_ step: @escaping @MainActor (UpgradeViewController) async throws -> Void) {
            work = Task {
                do {
                    try await step(self)
                } catch {
                    // The system already has its answer.
                    guard !Task.isCancelled else { return }
                    extensionContext.cancelRequest(withError: ASExtensionError(Self.code(of: error)))
                }
            }
        }

        /// Two errors that the system distinguishes. After any error, the password works as before.
        private static func code(of error: any Error) -> ASExtensionError.Code {
            switch (error as? ASExtensionError)?.code {
            case .userInteractionRequired?: .userInteractionRequired
            case .userCanceled?: .userCanceled
            default: .failed
            }
        }

        /// The system gives the saved password. An app that starts the upgrade itself passes it in `userInfo`, if known.
        private func password(_ credential: ASPasswordCredential, _ userInfo: [AnyHashable: Any]?) -> String {
            credential.password.isEmpty ? userInfo?["password"] as? String ?? "" : credential.password
        }
    }

    extension LinkProof {
        init(_ credential: ASAuthorizationAppleIDCredential?, _ error: (any Error)?) throws {
            guard let credential, case .apple(let token, let code, let name)? = try? AppleAnswer(credential) else {
                throw error ?? ASExtensionError(.failed)
            }
            self.init(identityToken: token, authorizationCode: code, user: name)
        }
    }
#endif
