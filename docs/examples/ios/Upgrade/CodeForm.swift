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
        field.keyboardType = .numberPad
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

    /// Shows why a code is asked for, and takes one.
    func ask(_ reason: String) {
        text.text = reason
        field.text = ""
        field.isEnabled = true
        button.isEnabled = true
        field.becomeFirstResponder()
    }
}
