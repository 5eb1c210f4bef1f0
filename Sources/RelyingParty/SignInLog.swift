import Logging

// One line per callback, with a reason code. Never a token, a code, a name or an address.
extension SignIn {
    func log(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn(_, let session, _):
            logger.info("signed in", metadata: ["user": "\(session.user)", "session": "\(session.id)"])
        case .alreadySignedIn:
            logger.info("callback replayed in its own browser")
        case .repost:
            logger.info("callback without the binding cookie, posted once more")
        case .pending(let user):
            logger.info("sign-in refused", metadata: ["reason": "user_pending", "user": "\(user)"])
        case .disabled(let user):
            logger.info("sign-in refused", metadata: ["reason": "user_disabled", "user": "\(user)"])
        case .closed:
            logger.info("sign-in refused", metadata: ["reason": "sign_up_closed"])
        case .failed(let failure, _):
            var metadata: Logger.Metadata = ["reason": "\(failure.reason)"]
            if let detail = failure.detail { metadata["detail"] = "\(detail)" }
            logger.log(level: level(of: failure), "sign-in failed", metadata: metadata)
        }
    }

    /// Anyone can post nonsense; a browser that lost its cookie is worth a line; our own failure is an error.
    private func level(of failure: SignInFailure) -> Logger.Level {
        switch failure {
        case .malformedCallback, .invalidState: .debug
        case .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled, .providerError: .info
        case .identityToken, .tokenMismatch, .clock, .keysUnavailable, .providerUnavailable, .codeRefused: .warning
        case .clientRefused, .storage: .error
        }
    }
}
