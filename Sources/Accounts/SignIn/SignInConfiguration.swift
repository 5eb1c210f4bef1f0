/// What the operator configures about signing in.
package struct SignInConfiguration: Sendable {
    /// The longest `login.attemptLifetime`, in seconds.
    package static let maximumAttemptLifetime: Int64 = 600

    /// `login.attemptLifetime`: seconds between the login page and Apple's answer. 600 by default, at most 600.
    package var attemptLifetime: Int64
    package var sessionLimits: SessionLimits
    /// `access.signUp`.
    package var signUp: SignUpPolicy
    package var returnTargets: ReturnTargets
    /// `apple.nativeNonce`.
    package var nativeNonce: NativeNonce
    /// `login.askExistingAccount`: whether a new person is asked if they have an account.
    package var asksExisting: Bool

    package init(
        attemptLifetime: Int64 = maximumAttemptLifetime, sessionLimits: SessionLimits, signUp: SignUpPolicy,
        returnTargets: ReturnTargets, nativeNonce: NativeNonce, asksExisting: Bool = false
    ) {
        self.attemptLifetime = attemptLifetime
        self.sessionLimits = sessionLimits
        self.signUp = signUp
        self.returnTargets = returnTargets
        self.nativeNonce = nativeNonce
        self.asksExisting = asksExisting
    }
}
