import Logging

// One line per callback, with a reason code. Never a token, a code, a name or an address.
extension SignIn {
    func log(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn(_, let session, _):
            logger.info("signed in", metadata: ["user": "\(session.user)", "session": "\(session.id)"])
        case .alreadySignedIn:
            logger.info("callback replayed in the same browser")
        case .repost:
            logger.info("callback without the binding cookie; posting it again")
        case .refused(let refusal, let user): refused(refusal.code, user)
        case .cancelled: refused(.cancelled, nil)
        case .linkAuthorized:
            // Logged where it happened: apps authorize links too.
            break
        case .asksExisting(let person):
            logger.info("visitor asked for an existing account", metadata: ["waiting": "\(person.id)"])
        case .failed:
            // The code that answers the visitor logs this, with the error ID of their page.
            break
        }
    }

    func refused(_ code: ReasonCode, _ user: UserID?) {
        var metadata: Logger.Metadata = ["reason": "\(code.rawValue)"]
        if let user { metadata["user"] = "\(user)" }
        logger.info("sign-in refused", metadata: metadata)
    }
}
