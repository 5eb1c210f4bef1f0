import UIKit

/// A line of text, a field for a code and a button.
@MainActor
final class CodeForm {
    private let text = UILabel()
    private let field = UITextField()
    private let button: UIButton

    /// - Parameter onCode: called with what was typed, and not again until `ask`.
    init(onCode: @escaping @MainActor (String) -> Void) {
        button = UIButton(configuration: .filled())
        button.setTitle("Go On", for: .normal)
        text.numberOfLines = 0
        field.borderStyle = .roundedRect
        // Offers the code that a message brought, or that the system's own authenticator makes.
        field.textContentType = .oneTimeCode
        field.isEnabled = false
        button.isEnabled = false
        button.addAction(
            UIAction { [weak self] _ in
                guard let self, let code = field.text, !code.isEmpty else { return }
                button.isEnabled = false
                onCode(code)
            }, for: .primaryActionTriggered)
    }

    func fill(_ view: UIView) {
        let stack = UIStackView(arrangedSubviews: [text, field, button])
        stack.axis = .vertical
        stack.spacing = 16
        stack.translatesAutoresizingMaskIntoConstraints = false
        view.backgroundColor = .systemBackground
        view.addSubview(stack)
        NSLayoutConstraint.activate([
            stack.topAnchor.constraint(equalTo: view.safeAreaLayoutGuide.topAnchor, constant: 24),
            stack.leadingAnchor.constraint(equalTo: view.layoutMarginsGuide.leadingAnchor),
            stack.trailingAnchor.constraint(equalTo: view.layoutMarginsGuide.trailingAnchor),
        ])
    }

    /// Digits come from an authenticator and in messages; other codes may have letters.
    func takes(_ methods: [String]) {
        let hasDigitsOnly = !methods.isEmpty && methods.allSatisfy { ["totp", "sms"].contains($0) }
        field.keyboardType = hasDigitsOnly ? .numberPad : .default
    }

    /// `methods` as your verifier names them; the server's own page knows the same four.
    static func question(_ methods: [String]) -> String {
        let places = methods.compactMap { method in
            switch method {
            case "totp": "that your authenticator app shows"
            case "sms": "from the text message"
            case "email": "from the e-mail"
            case "recovery": "from your list of recovery codes"
            default: nil
            }
        }
        return places.isEmpty ? "Type the code." : "Type the code \(places.joined(separator: ", or "))."
    }

    /// Shows why a code is asked for, and takes one.
    func ask(_ reason: String) {
        text.text = reason
        field.text = ""
        field.isEnabled = true
        button.isEnabled = true
        field.becomeFirstResponder()
    }
}
