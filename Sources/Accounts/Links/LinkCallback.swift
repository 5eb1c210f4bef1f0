import Coding
import Crypto
import Logging
import Storage

// Apple's answer to a browser's attempt for a link.
extension SignIn {
    func complete(
        _ id: LinkID, form: CallbackForm, opened: SealedAttempt, device: Device, keptName: String?
    ) async -> SignInOutcome {
        do throws(Failure) {
            let link = try await found(id)
            // The state says the same, but anyone with the sealing key can make a state.
            guard link.browser == opened.used.bindingHash else { throw Failure(.wrongBrowser) }
            let content = RequestContent([form.state, form.code, form.identityToken])
            let after: Link
            if let before = try authorized(link, by: content.digest) {
                after = before
            } else {
                let callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
                after = try await authorize(
                    link, callback, content: content, attempt: opened.used, device: device, kept: keptName)
            }
            return .linkAuthorized(location: try location(of: after, content))
        } catch {
            return .failed(error.inSignIn, returnTo: opened.returnTo, link: id)
        }
    }

    /// Commits the link, unless it is committed already.
    func commit(_ link: Link) async throws(Failure) {
        switch link.state {
        case .done: return
        case .failed: throw Failure(ofLink: link.failure)
        case .open: throw Failure(.linkEnded)
        case .authorized: break
        }
        let now = clock.now()
        if link.isOver(at: now) { throw Failure(.linkExpired) }
        // Apple uses another subject for the person in every team: under this one they would be a new user.
        guard link.team == provider.team else { throw try await fail(link, "team_changed", at: now) }
        guard let identity = LinkedIdentity.open(link.sealedIdentity, for: link.id, with: keyring) else {
            // Sealed by a key that is no longer in the ring.
            throw try await fail(link, "unreadable", at: now)
        }
        // The application vouches for its user. A link creates no session, so this token is never used.
        let record = record(
            of: identity.identity, attempt: identity.attempt, kind: identity.kind,
            token: .made(SessionToken.make(random: random).hash), device: identity.device, policy: .open)
        let result = try await database.commitLink(link.id, record)
        switch result {
        case .committed(let link):
            var metadata: Logger.Metadata = ["link": "\(link.id)", "kind": "\(link.kind.rawValue)"]
            if let user = link.user { metadata["user"] = "\(user)" }
            logger.info("link completed", metadata: metadata)
        case .refused(let code):
            logger.notice("link refused", metadata: ["link": "\(link.id)", "reason": "\(code.rawValue)"])
            throw Failure(code)
        case .other(let link):
            guard link.state == .done else { throw Failure(ofLink: link.failure) }
        case .unknown: throw Failure(.linkUnknown)
        }
    }

    /// Ends a link that this configuration cannot commit.
    private func fail(_ link: Link, _ reason: String, at now: Timestamp) async throws(Failure) -> Failure {
        try await database.failLink(link.id, reason: reason, at: now)
        logger.notice("link refused", metadata: ["link": "\(link.id)", "reason": "\(reason)"])
        return Failure(.linkEnded)
    }
}
