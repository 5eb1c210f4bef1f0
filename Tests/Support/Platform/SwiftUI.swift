// As AuthenticationServices.swift beside this, with what SwiftUI adds to it, for the compiler only: nothing is drawn.
import AuthenticationServices
@_exported import Foundation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { return fatalError() }
}

extension Optional: View where Wrapped: View {
    public var body: Drawn { Drawn() }
}

/// Every view that is drawn by the system.
public struct Drawn: View {
    nonisolated init() {}
    public var body: Never { return fatalError() }
}

@MainActor @resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Part: View>(_ parts: repeat each Part) -> Drawn { Drawn() }
    public static func buildExpression<Part: View>(_ part: Part) -> Part { part }
    public static func buildEither(first: some View) -> Drawn { Drawn() }
    public static func buildEither(second: some View) -> Drawn { Drawn() }
    public static func buildIf<Part: View>(_ part: Part?) -> Part? { part }
}

extension View {
    public func task(_ action: @escaping @Sendable @isolated(any) () async -> Void) -> some View { Drawn() }
    public func onChange<Value: Equatable>(of value: Value, _ action: @escaping (Value, Value) -> Void) -> some View {
        Drawn()
    }
    public func frame(height: Double) -> some View { Drawn() }
    public func disabled(_ isDisabled: Bool) -> some View { Drawn() }
    public func signInWithAppleButtonStyle(_ style: SignInWithAppleButton.Style) -> some View { Drawn() }
}

public typealias VStack = Stack
public struct Stack: View {
    public init<Content: View>(spacing: Double, @ViewBuilder content: () -> Content) {}
    public var body: Drawn { Drawn() }
}

public struct Text: View {
    public init(_ text: some StringProtocol) {}
    public var body: Drawn { Drawn() }
}

public struct ProgressView: View {
    public init() {}
    public var body: Drawn { Drawn() }
}

public struct ButtonRole: Sendable {
    public static let destructive = ButtonRole()
}

public struct Button: View {
    public init(_ title: some StringProtocol, role: ButtonRole? = nil, action: @escaping @MainActor () -> Void) {}
    public var body: Drawn { Drawn() }
}

@propertyWrapper public struct State<Value> {
    private final class Box { var value: Value; init(_ value: Value) { self.value = value } }
    private let box: Box
    public init(wrappedValue: Value) { box = Box(wrappedValue) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

@propertyWrapper public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

public enum ScenePhase: Sendable { case background, inactive, active }
public enum ColorScheme: Sendable { case light, dark }

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { .active }
    public var colorScheme: ColorScheme { .light }
    public var authorizationController: AuthorizationController { fatalError() }
}

public protocol Scene {}
public struct WindowGroup: Scene {
    public init<Content: View>(@ViewBuilder content: () -> Content) {}
}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    init()
    var body: Body { get }
}

extension App {
    public static func main() { _ = Self().body }
}

// What both frameworks have together (_AuthenticationServices_SwiftUI).

@MainActor @preconcurrency public struct SignInWithAppleButton: View {
    public struct Label: Sendable { public static let signIn = Label() }
    public struct Style: Sendable {
        public static let black = Style()
        public static let white = Style()
    }
    nonisolated public init(
        _ label: Label = .signIn, onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) {}
    public var body: Drawn { Drawn() }
}

public enum ASAuthorizationResult {
    case password(ASPasswordCredential)
    case appleID(ASAuthorizationAppleIDCredential)
    case passkey
}

@MainActor public struct AuthorizationController {
    public func performRequests(
        _ requests: [ASAuthorizationRequest], options: ASAuthorizationController.RequestOptions
    ) async throws -> ASAuthorizationResult { fatalError() }
}
