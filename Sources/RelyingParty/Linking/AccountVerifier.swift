/// The application that has the passwords: the one party that knows whether one is right, and that drops it.
package protocol AccountVerifier: Sendable {
    /// Whether this is the account's password. The password is not kept beyond the call.
    func verify(username: String, password: Password) async throws(VerifierFailure) -> VerifierAnswer
    /// - Parameters:
    ///   - challenge: as `.twoFactorAuthRequired` gave it.
    ///   - code: what the person typed.
    func secondFactor(challenge: String, code: String) async throws(VerifierFailure) -> VerifierAnswer
    /// Drops the password of an account that is tied to an Apple identity now. Idempotent: sent again with the same
    /// `attemptID` until it is answered.
    func convert(_ conversion: Conversion) async throws(VerifierFailure) -> ConversionAnswer
}

package enum VerifierAnswer: Hashable, Sendable {
    /// `UserLimits` accepts the external ID.
    case success(externalID: String)
    /// `methods` are names the application gives them, for the client to show.
    case twoFactorAuthRequired(challenge: String, methods: [String])
    /// Wrong, unknown, locked: the verifier tells no difference.
    case failure
}

package enum ConversionAnswer: Hashable, Sendable {
    /// 204: the password is gone.
    case converted
    /// 409: the application will not; the link is removed.
    case refused
}

/// The verifier gave no answer that counts: down, slow, a redirect, nonsense. The text is for the operator and holds
/// nothing of what was sent.
package enum VerifierFailure: Error, Hashable, Sendable {
    case unavailable(String)

    package var detail: String {
        switch self {
        case .unavailable(let text): text
        }
    }
}

/// What the application is asked to convert.
package struct Conversion: Hashable, Sendable {
    /// The same for every try of one link.
    package var attemptID: LinkKey
    package var kind: LinkKind
    package var externalID: String
    package var userID: UserID

    package init(attemptID: LinkKey, kind: LinkKind, externalID: String, userID: UserID) {
        self.attemptID = attemptID
        self.kind = kind
        self.externalID = externalID
        self.userID = userID
    }
}
