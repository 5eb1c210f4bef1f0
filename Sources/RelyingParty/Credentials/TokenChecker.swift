/// Asks Apple whether what a person allowed still stands.
package protocol TokenChecker: Sendable {
    /// Returns when Apple took the token and vouched anew for this person and client. Asked once; never retried.
    func check(
        _ token: RefreshToken, subject: AppleSubject, clientID: ClientID
    ) async throws(TokenCheckFailure)
}

/// Why a check did not end well. The texts are for the operator and hold no token and nobody's name.
package enum TokenCheckFailure: Error, Hashable, Sendable {
    /// Apple no longer knows the token: revoked, deleted, or ended by a new password.
    case dead(String)
    /// Apple says that the token is not this client's, or that the redirect URI differs: our mistake, nobody's end.
    case mismatch(String)
    /// Apple refused us: the key, the team or the client does not belong to the others.
    case clientRefused(String)
    /// Apple took the token, but the identity token it gave for it is not one that verifies for this person and client.
    case unverified(String)
    /// Apple did not answer, or not sensibly.
    /// - `mayHaveChecked`: the request may have arrived and been worked on. Then it counts as this day's.
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
