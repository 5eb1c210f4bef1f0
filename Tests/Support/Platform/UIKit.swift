// As AuthenticationServices.swift beside this: what the sample's form uses. Labels, fields and buttons keep what they are
// given, and a test finds them; nothing is drawn.
import Foundation

@MainActor open class UIView: NSObject {
    public var backgroundColor: UIColor?
    public var translatesAutoresizingMaskIntoConstraints = true
    public private(set) var subviews: [UIView] = []
    public let topAnchor = NSLayoutYAxisAnchor()
    public let leadingAnchor = NSLayoutXAxisAnchor()
    public let trailingAnchor = NSLayoutXAxisAnchor()
    public let safeAreaLayoutGuide = UILayoutGuide()
    public let layoutMarginsGuide = UILayoutGuide()
    public func addSubview(_ view: UIView) { subviews.append(view) }
    @discardableResult public func becomeFirstResponder() -> Bool { true }
}

@MainActor public class UIWindow: UIView {}

@MainActor open class UIViewController: NSObject {
    public let view: UIView! = UIView()
}

@MainActor public class UILayoutGuide: NSObject {
    public let topAnchor = NSLayoutYAxisAnchor()
    public let leadingAnchor = NSLayoutXAxisAnchor()
    public let trailingAnchor = NSLayoutXAxisAnchor()
}

@MainActor public class NSLayoutAnchor<Axis>: NSObject {
    public func constraint(equalTo anchor: NSLayoutAnchor<Axis>, constant: Double = 0) -> NSLayoutConstraint {
        NSLayoutConstraint()
    }
}

public final class XAxis {}
public final class YAxis {}
public typealias NSLayoutXAxisAnchor = NSLayoutAnchor<XAxis>
public typealias NSLayoutYAxisAnchor = NSLayoutAnchor<YAxis>

@MainActor public class NSLayoutConstraint: NSObject {
    public static func activate(_ constraints: [NSLayoutConstraint]) {}
    public enum Axis: Sendable { case horizontal, vertical }
}

public class UIColor: NSObject {
    @MainActor public static let systemBackground = UIColor()
}

public class UIStackView: UIView {
    public var axis = NSLayoutConstraint.Axis.horizontal
    public var spacing = 0.0
    public let arrangedSubviews: [UIView]
    public init(arrangedSubviews views: [UIView]) { arrangedSubviews = views }
}

public class UILabel: UIView {
    public var text: String?
    public var numberOfLines = 1
}

public struct UITextContentType: Sendable {
    public static let oneTimeCode = UITextContentType()
}

public enum UIKeyboardType: Sendable { case `default`, numberPad }

public class UIControl: UIView {
    public struct State: Sendable { public static let normal = State() }
    public struct Event: Sendable { public static let primaryActionTriggered = Event() }
    public var isEnabled = true
    private var actions: [UIAction] = []
    public func addAction(_ action: UIAction, for event: Event) { actions.append(action) }
    /// A tap.
    public func press() {
        guard isEnabled else { return }
        for action in actions { action.handler(action) }
    }
}

public class UITextField: UIControl {
    public enum BorderStyle: Sendable { case none, roundedRect }
    public var text: String?
    public var borderStyle = BorderStyle.none
    public var keyboardType = UIKeyboardType.default
    public var textContentType: UITextContentType!
}

@MainActor public final class UIAction: NSObject {
    let handler: @MainActor (UIAction) -> Void
    public init(handler: @escaping @MainActor (UIAction) -> Void) { self.handler = handler }
}

public class UIButton: UIControl {
    public struct Configuration: Sendable { public static func filled() -> Configuration { Configuration() } }
    public init(configuration: Configuration, primaryAction: UIAction? = nil) {}
    public func setTitle(_ title: String?, for state: State) {}
}
