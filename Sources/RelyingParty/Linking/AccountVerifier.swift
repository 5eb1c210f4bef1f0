/// The application that stores the passwords: the only party that can check one, and that removes it.
package protocol AccountVerifier: Sendable {
    /// Checks an account's password. The password is not kept after the call.
    func verify(username: String, password: Password) async throws(VerifierFailure) -> VerifierAnswer
    /// - Parameters:
    ///   - challenge: from `.twoFactorAuthRequired`.
    ///   - code: what the person typed.
    func secondFactor(challenge: String, code: String) async throws(VerifierFailure) -> VerifierAnswer
    /// Removes the password of an account that is now linked to an Apple identity. Idempotent: repeated with the same
    /// `attemptID` until answered.
    func convert(_ conversion: Conversion) async throws(VerifierFailure) -> ConversionAnswer
}

package enum VerifierAnswer: Hashable, Sendable {
    /// `UserLimits` accepts the external ID.
    case success(externalID: String)
    /// `methods` are the application's names for them, for the client to show.
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

/// The verifier gave no valid answer: it is down, slow, redirects or answers nonsense. The text is for the operator and
/// contains nothing that was sent.
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
    /// The same for every attempt of one link.
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
