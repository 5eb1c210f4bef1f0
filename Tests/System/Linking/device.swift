// A device with the sample's extension on it, with the frameworks of Tests/Support/Platform.
import AuthenticationServices
import BramleyKit
import Foundation
import Script
import UIKit

final class TestedController: UpgradeViewController {
    override func makeClient() -> UpgradeClient {
        UpgradeClient(
            application: URL(string: CommandLine.arguments[1])!, server: URL(string: CommandLine.arguments[2])!)
    }
}

@MainActor final class Device {
    private var controller = TestedController()
    private var sheet: ASAccountAuthenticationModificationExtensionContext.Handler?

    func hear(_ words: [String]) {
        switch words[0] {
        // convert USER PASSWORD, prepare USER PASSWORD: each by a controller of its own, as the system may.
        case "convert":
            begin().convertAccountToSignInWithAppleWithoutUserInteraction(
                for: service, existingCredential: ASPasswordCredential(user: words[1], password: words[2]),
                userInfo: nil)
        case "prepare":
            begin().prepareInterfaceToConvertAccountToSignInWithApple(
                for: service, existingCredential: ASPasswordCredential(user: words[1], password: words[2]),
                userInfo: nil)
        // app USER PASSWORD: asked for by the app, which gives what it knows.
        case "app":
            begin().convertAccountToSignInWithAppleWithoutUserInteraction(
                for: service, existingCredential: ASPasswordCredential(user: words[1], password: ""),
                userInfo: ["password": words[2]])
        case "cancel": controller.cancelRequest()
        case "code":
            form(UITextField.self)?.text = words[1]
            form(UIButton.self)?.press()
        // What Apple's sheet gives: JSON, `closed` by the person, or `nothing`.
        case "apple": answer(words[1])
        // Once the form asks for a code, what it says.
        case "form": tellForm()
        default: say("unknown command")
        }
    }

    private let service = ASCredentialServiceIdentifier(identifier: "www.example.com", type: .domain)

    private func begin() -> TestedController {
        controller = TestedController()
        controller.extensionContext.onSheet = { [weak self] nonce, handler in
            self?.sheet = handler
            say("sheet \(nonce ?? "none")")
        }
        controller.extensionContext.onEnd = { error in
            guard let error else { return say("done") }
            say("ended \((error as? ASExtensionError).map { "\($0.code)" } ?? "\(error)")")
        }
        return controller
    }

    private func answer(_ text: String) {
        let handler = sheet
        sheet = nil
        switch text {
        case "closed": handler?(nil, ASExtensionError(.userCanceled))
        case "nothing": handler?(nil, nil)
        default:
            guard let given = Given(text) else { return say("not JSON") }
            handler?(
                ASAuthorizationAppleIDCredential(
                    identityToken: Data(given.identityToken.utf8),
                    authorizationCode: Data(given.authorizationCode.utf8), fullName: given.name), nil)
        }
    }

    private func tellForm() {
        guard form(UIButton.self)?.isEnabled == true else {
            DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(20)) { self.tellForm() }
            return
        }
        say("form \(form(UILabel.self)?.text ?? "")")
    }

    private func form<View: UIView>(_ type: View.Type) -> View? {
        (controller.view.subviews.first as? UIStackView)?.arrangedSubviews.compactMap { $0 as? View }.first
    }
}

@main
struct Main {
    @MainActor static func main() {
        let device = Device()
        listen { line in
            // Three words at most: JSON and passwords have spaces.
            device.hear(line.split(separator: " ", maxSplits: line.hasPrefix("apple") ? 1 : 2).map(String.init))
        }
    }
}
