// An app with the account of docs/examples/ios, with the frameworks of Tests/Support/Platform.
import AuthenticationServices
import BramleyKit
import Foundation
import Script
import UIKit

@MainActor final class Phone {
    private let account: AccountModel
    private let sheet = AppleAuthorization.sheet(over: UIWindow())
    private var controller: ASAuthorizationController?

    init(server: URL) {
        var client = BramleyClient(server: server)
        client.retries = 0
        account = AccountModel(client: client)
        ASAuthorizationController.onSheet = { [weak self] controller, options in
            self?.controller = controller
            let apple = controller.authorizationRequests.compactMap { $0 as? ASAuthorizationAppleIDRequest }.first
            let asksForPassword = controller.authorizationRequests.contains { $0 is ASAuthorizationPasswordRequest }
            let isLocal = options.contains(.preferImmediatelyAvailableCredentials)
            say("sheet \(apple?.nonce ?? "none")\(asksForPassword ? " password" : "")\(isLocal ? " local" : "")")
        }
    }

    func hear(_ words: [String]) {
        switch words[0] {
        case "start": perform { await $0.account.start() }
        case "existing":
            perform { phone in
                if let saved = try await phone.account.signInWithExisting(phone.sheet) {
                    say("password of \(saved.user): \(saved.password)")
                }
            }
        case "sign-in": perform { try await $0.account.signIn($0.sheet) }
        case "sign-out": perform { await $0.account.signOut() }
        case "delete": perform { _ = try await $0.account.deleteAccount($0.sheet) }
        case "link":
            perform { phone in
                let link = try JSONDecoder().decode(AccountLink.self, from: Data(words[1].utf8))
                say(try await phone.account.authorize(link, phone.sheet))
            }
        case "assertion": perform { say(try await $0.account.assertion() ?? "nobody") }
        // What Apple knows of the consent, from now on: a state, or nothing.
        case "state":
            let states: [String: ASAuthorizationAppleIDProvider.CredentialState] = [
                "authorized": .authorized, "revoked": .revoked, "notFound": .notFound, "transferred": .transferred,
            ]
            ASAuthorizationAppleIDProvider.credentialState = states[words[1]]
            perform { await $0.account.refresh() }
        case "prefers":
            for code in [ASAuthorizationError.Code.canceled, .preferSignInWithApple] {
                say("\(ASAuthorizationError(code).prefersSignInWithApple)")
            }
        // What the sheet gives: JSON, a password or `closed`.
        case "apple": answer(words[1])
        default: say("unknown command")
        }
    }

    private func answer(_ text: String) {
        guard let controller, let delegate = controller.delegate else { return say("no sheet") }
        if text == "closed" {
            delegate.authorizationController(
                controller: controller, didCompleteWithError: ASAuthorizationError(.canceled))
            return
        }
        let credential: any ASAuthorizationCredential =
            Given(text).map {
                ASAuthorizationAppleIDCredential(
                    identityToken: Data($0.identityToken.utf8), authorizationCode: Data($0.authorizationCode.utf8),
                    fullName: $0.name)
            } ?? ASPasswordCredential(user: "ada", password: text)
        delegate.authorizationController(
            controller: controller, didCompleteWithAuthorization: ASAuthorization(credential))
    }

    /// Says what went wrong, or who is signed in then.
    private func perform(_ step: @escaping @MainActor (Phone) async throws -> Void) {
        Task {
            do {
                try await step(self)
                switch account.state {
                case .signedOut: say("signed out")
                case .signedIn(let person): say("\(person.id) \(person.name.given ?? "without a name")")
                }
            } catch let refusal as SignInRefusal {
                say("refused: \(refusal)")
            } catch let error as ASAuthorizationError {
                say("\(error.code)")
            } catch {
                say("error")
            }
        }
    }
}

@main
struct Main {
    @MainActor static func main() {
        let phone = Phone(server: URL(string: CommandLine.arguments[1])!)
        listen { line in phone.hear(line.split(separator: " ", maxSplits: 1).map(String.init)) }
    }
}
