#if canImport(UIKit) && canImport(AuthenticationServices)
    import UIKit

    /// A line of text, a field for a code and a button.
    @MainActor
    final class CodeForm {
        private let text = UILabel()
        private let field = UITextField()
        private let button: UIButton

        /// - Parameter onCode: called with the typed code; not again before the next `ask`.
        init(onCode: @escaping @MainActor (String) -> Void) {
            button = UIButton(configuration: .filled())
            button.setTitle("Continue", for: .normal)
            text.numberOfLines = 0
            field.borderStyle = .roundedRect
            // Offers the code from a message or from the system's authenticator.
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

        /// Codes from authenticators and messages have digits only; others may have letters.
        func takes(_ methods: [String]) {
            let hasDigitsOnly = !methods.isEmpty && methods.allSatisfy { ["totp", "sms"].contains($0) }
            field.keyboardType = hasDigitsOnly ? .numberPad : .default
        }

        /// - Parameter methods: as your application names them.
        static func question(_ methods: [String]) -> String {
            let places = methods.compactMap { method in
                switch method {
                case "totp": "from your authenticator app"
                case "sms": "from the text message"
                case "email": "from the e-mail"
                case "recovery": "from your list of recovery codes"
                default: nil
                }
            }
            return places.isEmpty ? "Enter the code." : "Enter the code \(places.joined(separator: ", or "))."
        }

        /// Shows the reason and accepts a code.
        func ask(_ reason: String) {
            text.text = reason
            field.text = ""
            field.isEnabled = true
            button.isEnabled = true
            field.becomeFirstResponder()
        }
    }
#endif
