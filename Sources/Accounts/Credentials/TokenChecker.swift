/// Asks Apple whether a person's consent is still valid.
package protocol TokenChecker: Sendable {
    /// Returns when Apple accepted the token and confirmed this person and client. Asks once; never retries.
    func check(
        _ token: RefreshToken, subject: AppleSubject, clientID: ClientID
    ) async throws(TokenCheckFailure)
}

/// Why a check failed. The texts are for the operator and contain no token and no name.
package enum TokenCheckFailure: Error, Hashable, Sendable {
    /// Apple no longer knows the token: revoked, deleted, or ended by a new password.
    case dead(String)
    /// Apple says that the token is not this client's, or that the redirect URI differs: our mistake; nobody's consent
    /// ended.
    case mismatch(String)
    /// Apple refused us: key, team and client do not belong together.
    case clientRefused(String)
    /// Apple accepted the token, but returned an identity token that does not verify for this person and client.
    case unverified(String)
    /// Apple did not answer, or not usefully.
    /// - `mayHaveChecked`: the request may have arrived and been processed. Then it counts as the day's check.
    /// - `isThrottled`: 429. `retryAfter`: what Apple asked for, in milliseconds.
    case unavailable(String, mayHaveChecked: Bool, isThrottled: Bool = false, retryAfter: Int64? = nil)

    /// A short, stable code for the log.
    package var reason: String {
        switch self {
        case .dead: "token_dead"
        case .mismatch: "mismatch"
        case .clientRefused: "client_refused"
        case .unverified: "identity_token"
        case .unavailable: "provider_unavailable"
        }
    }

    package var detail: String {
        switch self {
        case .dead(let text), .mismatch(let text), .clientRefused(let text), .unverified(let text),
            .unavailable(let text, _, _, _):
            text
        }
    }
}

/// Ends a person's authorization at Apple.
package protocol TokenRevoker: Sendable {
    /// Returns once Apple has acknowledged, which it also does for tokens it does not know.
    func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenRevocationFailure)
}

/// Why Apple did not revoke. The text is for the operator and contains no token.
package enum TokenRevocationFailure: Error, Hashable, Sendable {
    /// Apple refused us: key, team and client do not belong together.
    case clientRefused(String)
    /// Apple did not answer, or not usefully.
    case unavailable(String)

    package var reason: String {
        switch self {
        case .clientRefused: "client_refused"
        case .unavailable: "provider_unavailable"
        }
    }

    package var detail: String {
        switch self {
        case .clientRefused(let text), .unavailable(let text): text
        }
    }
}
