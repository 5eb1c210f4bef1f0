// A device with the sample's extension on it, a line at a time. What the person and the system do comes in; what they
// would see goes out. Compiled with docs/examples/ios/Upgrade and the frameworks of Tests/System/Linking/Platform.
import AuthenticationServices
import Foundation
import UIKit

final class TestedController: UpgradeViewController {
    override var application: URL { URL(string: CommandLine.arguments[1])! }
    override var server: URL { URL(string: CommandLine.arguments[2])! }
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
            struct Given: Decodable {
                struct Name: Decodable { var givenName: String?, familyName: String? }
                var identityToken: String, authorizationCode: String, fullName: Name?
            }
            guard let given = try? JSONDecoder().decode(Given.self, from: Data(text.utf8)) else {
                return say("not JSON")
            }
            var name = PersonNameComponents()
            (name.givenName, name.familyName) = (given.fullName?.givenName, given.fullName?.familyName)
            handler?(
                ASAuthorizationAppleIDCredential(
                    identityToken: Data(given.identityToken.utf8),
                    authorizationCode: Data(given.authorizationCode.utf8),
                    fullName: given.fullName.map { _ in name }), nil)
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

/// Past the standard library's buffers: their locks are held while a line is read.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

@main
struct Main {
    @MainActor static func main() {
        let device = Device()
        Thread.detachNewThread {
            while let line = readLine() {
                // Three words at most: JSON and passwords have spaces.
                let count = line.hasPrefix("apple") ? 1 : 2
                let words = line.split(separator: " ", maxSplits: count).map(String.init)
                DispatchQueue.main.async { MainActor.assumeIsolated { device.hear(words) } }
            }
            exit(0)
        }
        while true { RunLoop.main.run() }
    }
}
