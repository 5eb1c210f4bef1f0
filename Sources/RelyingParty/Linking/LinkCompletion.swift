import Coding
import Crypto
import Logging

/// The result of a conversion.
enum ConversionOutcome: Sendable {
    case done(Link)
    /// The application refused, or is no longer asked, and the link is removed.
    case refused
    /// No answer yet, or not asked yet; seconds until the next attempt.
    case waiting(retryAfter: Int64)
    /// The user was deleted, and the link with them.
    case gone
}

// From the waiting identity to the finished link: commit, convert, done.
extension Linking {
    /// How long one call of `convert` may take, in seconds: longer than the HTTP client allows.
    static var conversionFlightTime: Int64 { 30 }

    /// Commits the link; returns it at once when it is committed already.
    func commit(_ link: Link) async throws(LinkFailure) -> Link {
        switch link.state {
        case .converting, .done: return link
        case .failed: throw LinkFailure(stored: link.failure)
        case .challenged, .open: throw .ended
        case .authorized: break
        }
        let now = clock.now()
        if link.isOver(at: now) { throw .expired }
        // Nobody could ask the application.
        if link.kind == .upgrade, passwords == nil { throw .notConfigured }
        // Apple uses another subject for the person in every team: under this one they would be a new user.
        guard link.team == provider.team else { throw try await fail(link, "team_changed", at: now) }
        guard let identity = LinkedIdentity.open(link.sealedIdentity, for: link.key, with: keyring) else {
            // Sealed by a key that is no longer in the ring.
            throw try await fail(link, "unreadable", at: now)
        }
        let commit = LinkCommit(
            key: link.key, record: record(of: identity, link, at: now),
            conversionDueAt: now.adding(seconds: Self.conversionFlightTime))
        let result = try await LinkFailure.mapping(await links.commitLink(commit))
        switch result {
        case .committed(let link):
            log(link)
            return link
        case .refused(let failure):
            logger.notice("link refused", metadata: ["link": "\(link.key)", "reason": "\(failure.reason)"])
            throw failure
        case .other(let link):
            guard link.state == .converting || link.state == .done else { throw LinkFailure(stored: link.failure) }
            return link
        case .unknown: throw .unknown
        }
    }

    /// Ends a link that this configuration cannot commit.
    private func fail(_ link: Link, _ reason: String, at now: Timestamp) async throws(LinkFailure) -> LinkFailure {
        try await LinkFailure.mapping(await links.failLink(link.key, reason: reason, at: now))
        logger.notice("link refused", metadata: ["link": "\(link.key)", "reason": "\(reason)"])
        return .ended
    }

    /// The link once it is `done`, asking the application if necessary.
    func settle(_ link: Link) async throws(LinkFailure) -> Link {
        guard link.state == .converting else { return link }
        let outcome = try await LinkFailure.mapping(await convert(link.key, onlyIfDue: false))
        switch outcome {
        case .done(let link): return link
        case .refused: throw .conversionFailed(retryAfter: nil)
        case .waiting(let seconds): throw .conversionFailed(retryAfter: seconds)
        case .gone: throw .unknown
        }
    }

    /// Asks the application to convert, and acts on its answer. The job calls it too.
    func convert(_ key: LinkKey, onlyIfDue: Bool) async throws(StoreError) -> ConversionOutcome {
        guard let passwords else { return .waiting(retryAfter: Conversions.pauses[0]) }
        let now = clock.now()
        let begun = try await links.beginConversion(
            key, at: now, until: now.adding(seconds: Self.conversionFlightTime), onlyIfDue: onlyIfDue)
        let link: Link
        switch begun {
        case .ask(let found): link = found
        case .putOff(let obstacle, let seconds):
            logger.warning(
                "conversion postponed", metadata: ["link": "\(key)", "reason": "\(obstacle.rawValue)"])
            return .waiting(retryAfter: seconds)
        case .over(let obstacle):
            logger.error(
                """
                conversion stopped: the account no longer belongs to this user; an earlier unanswered call may have \
                converted it
                """, metadata: ["link": "\(key)", "reason": "\(obstacle.rawValue)"])
            return .refused
        case .nothing: return outcome(of: try await links.link(key))
        }
        guard let conversion = link.conversion else { return .gone }
        let answer: ConversionAnswer
        do throws(VerifierFailure) {
            answer = try await passwords.verifier.convert(conversion)
        } catch {
            let next = Conversions.next(for: link, at: clock.now(), counts: onlyIfDue)
            try await links.postponeConversion(
                key, until: next.due, failure: "verifier_unavailable", counts: onlyIfDue)
            logger.warning(
                "conversion not answered",
                metadata: [
                    "link": "\(key)", "detail": "\(error.detail)",
                    "attempts": "\(link.attempts + (onlyIfDue ? 1 : 0))",
                ])
            return .waiting(retryAfter: next.retryAfter)
        }
        switch answer {
        case .converted:
            let finished = try await links.finishLink(finish(link))
            switch finished?.state {
            case .done?: finished.map { log($0) }
            case .failed? where finished?.failure == ConversionRule.Obstacle.accountChanged.rawValue:
                logger.error(
                    "conversion answered for an account that no longer belongs to this user",
                    metadata: ["link": "\(key)", "user": "\(conversion.userID)"])
            default: break
            }
            return finished.map { outcome(of: $0) } ?? .gone
        case .refused:
            let undone = try await links.undoLink(key, at: clock.now())
            logger.error("conversion refused by the application; link removed", metadata: ["link": "\(key)"])
            return undone.map { outcome(of: $0) } ?? .gone
        }
    }

    private func outcome(of link: Link?) -> ConversionOutcome {
        guard let link else { return .gone }
        switch link.state {
        case .done: return .done(link)
        case .converting: return .waiting(retryAfter: Conversions.pauses[0])
        case .challenged, .open, .authorized, .failed: return .refused
        }
    }

    private func finish(_ link: Link) -> LinkFinish {
        let now = clock.now()
        let identity = LinkedIdentity.open(link.sealedIdentity, for: link.key, with: keyring)
        return LinkFinish(
            key: link.key, record: identity.map { record(of: $0, link, at: now) },
            makesSession: identity?.session != nil && !link.isOver(at: now), now: now)
    }

    /// The record that a sign-in of this identity would store. The application vouches for its user.
    private func record(of linked: LinkedIdentity, _ link: Link, at now: Timestamp) -> SignInRecord {
        record(
            of: linked.identity, attempt: linked.attempt, kind: linked.kind,
            // For a link that makes no session: a token nobody holds.
            token: .made(linked.session ?? SessionToken.make(random: random).hash), device: linked.device,
            team: link.team ?? provider.team, policy: .open, at: now)
    }

    // MARK: The session of an upgrade

    /// The session that an upgrade made, for the sender of the request that authorized it.
    func session(
        of link: Link, _ content: RequestContent
    ) async throws(LinkFailure) -> (SessionToken, SignedIn) {
        let now = clock.now()
        // After that, the token is given to nobody again.
        if link.isOver(at: now) { throw .completed }
        guard let session = link.session else {
            let user = try await LinkFailure.mapping(await links.user(of: link.key))
            switch user?.state {
            case nil: throw .unknown
            case .disabled: throw .userDisabled
            case .pending: throw .userPending
            // Apple ended the consent during the conversion.
            case .active: throw .signIn(.revoked)
            }
        }
        for token in sessionTokens(of: link.key, content) {
            let found = try await LinkFailure.mapping(await store.signedIn(token: token.hash, at: now))
            if let found, found.session.id == session { return (token, found) }
        }
        throw .ended
    }

    /// The token of the session that an upgrade makes, derived from the request, so that a retry gets the token whose
    /// SHA-256 the database holds.
    func sessionTokens(of key: LinkKey, _ content: RequestContent) -> [SessionToken] {
        content.tokens(for: SHA256.hash(utf8: key.rawValue), purpose: "upgrade-session", with: keyring)
    }

    private func log(_ link: Link) {
        var metadata: Logger.Metadata = ["link": "\(link.key)", "kind": "\(link.kind.rawValue)"]
        if let user = link.user { metadata["user"] = "\(user)" }
        if let session = link.session { metadata["session"] = "\(session)" }
        logger.info(link.state == .done ? "link completed" : "link committed", metadata: metadata)
    }
}
