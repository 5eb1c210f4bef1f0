package import Storage

/// Why a sign-in did not complete. `reason` is the code in the operator's log; the case selects the visitor's page.
package enum SignInFailure: StoreFailure, Hashable, Sendable {
    /// The form is not what Apple posts (duplicate, oversized or missing fields): 400.
    case malformedCallback(String)
    /// `state` is absent, forged, or sealed by a key we no longer have.
    case invalidState
    /// `state` is older than the attempt's life.
    case staleState
    /// Another browser's attempt: the binding cookie does not match.
    case wrongBrowser
    /// There is no binding cookie, not even on the re-post: cookies are blocked.
    case missingBinding
    /// The attempt was completed before and its session is gone.
    case replayed
    /// The visitor cancelled at Apple.
    case cancelled
    /// Apple sent another `error`.
    case providerError(String)
    /// The identity token was refused; the text names the check, for the log only.
    case identityToken(String)
    /// The two tokens of one sign-in disagree.
    case tokenMismatch(String)
    /// A time claim is outside the tolerance: this server's or Apple's clock is wrong.
    case clock(String)
    /// The key set is unavailable, or the kid is unknown within the cool-down.
    case keysUnavailable(String)
    /// Apple did not answer, or not usefully.
    case providerUnavailable(String)
    /// The code was sent and Apple's answer did not arrive, so it may have been redeemed. Outside it looks like the
    /// case above.
    case answerLost(String)
    /// Apple refused the code (`invalid_grant`).
    case codeRefused(String)
    /// Apple refused us (`invalid_client`, …): the operator's configuration.
    case clientRefused(String)
    /// The person withdrew consent, or deleted their Apple Account, during the sign-in.
    case revoked
    /// The database write failed.
    case storage(String)

    package init(store error: StoreError) { self = .storage(error.text) }

    /// A short, stable code for logs, metrics and the error page.
    package var reason: String { reasonCode.rawValue }

    package var reasonCode: ReasonCode {
        switch self {
        case .malformedCallback: .malformedCallback
        case .invalidState: .invalidState
        case .staleState: .staleState
        case .wrongBrowser: .wrongBrowser
        case .missingBinding: .missingBinding
        case .replayed: .replayed
        case .cancelled: .cancelled
        case .providerError: .providerError
        case .identityToken: .identityToken
        case .tokenMismatch: .tokenMismatch
        case .clock: .clock
        case .keysUnavailable: .keysUnavailable
        case .providerUnavailable, .answerLost: .providerUnavailable
        case .codeRefused: .codeRefused
        case .clientRefused: .clientRefused
        case .revoked: .revoked
        case .storage: .storage
        }
    }

    /// Every code a sign-in can fail with.
    package static let reasonCodes: [ReasonCode] = [
        .malformedCallback, .invalidState, .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled,
        .providerError, .identityToken, .tokenMismatch, .clock, .keysUnavailable, .providerUnavailable, .codeRefused,
        .clientRefused, .revoked, .storage,
    ]

    /// For the operator only; never contains a token, a code or an address.
    package var detail: String? {
        switch self {
        case .malformedCallback(let text), .providerError(let text), .identityToken(let text),
            .tokenMismatch(let text), .clock(let text), .keysUnavailable(let text), .providerUnavailable(let text),
            .answerLost(let text), .codeRefused(let text), .clientRefused(let text), .storage(let text):
            text
        case .invalidState, .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled, .revoked: nil
        }
    }
}
