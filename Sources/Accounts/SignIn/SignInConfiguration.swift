/// What the operator configures about signing in.
package struct SignInConfiguration: Sendable {
    /// The longest `attemptLifetime`.
    package static let maximumAttemptLifetime: Int64 = 600

    /// `login.attemptLifetime`: seconds between the login page and Apple's answer.
    package var attemptLifetime = maximumAttemptLifetime
    /// `access.signUp`.
    package var signUp: SignUpPolicy
    /// `apple.nativeNonce`.
    package var nativeNonce = NativeNonce.sha256
    /// `login.askExistingAccount`: whether a new person is asked if they have an account.
    package var asksExisting = false

    package init(signUp: SignUpPolicy = .closed) { self.signUp = signUp }
}
