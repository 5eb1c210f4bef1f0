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
