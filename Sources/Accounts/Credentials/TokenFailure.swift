/// Why Apple did not check or revoke a token. The texts are for the operator and contain no token and no name.
package enum TokenFailure: Error, Hashable, Sendable {
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
    /// - `mayHaveActed`: the request may have arrived and been processed. Then a check counts as the day's.
    /// - `isThrottled`: 429. `retryAfter`: what Apple asked for, in milliseconds.
    case unavailable(String, mayHaveActed: Bool, isThrottled: Bool = false, retryAfter: Int64? = nil)

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
