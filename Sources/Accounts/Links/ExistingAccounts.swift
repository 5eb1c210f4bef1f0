package import Coding
package import Crypto
import Storage

/// An unknown person who is asked whether they have an account, as shown on the page.
package struct WaitingPerson: Hashable, Sendable {
    package var id: WaitingID
    /// Given with this consent.
    package var name: PersonName?
    package var email: EmailAddress?
}

// Prevents a second account by accident. The identity waits, sealed, for its browser only.
extension SignIn {
    /// Keeps an unknown identity of a browser's sign-in waiting; nil when it has a user, or the question is not configured.
    func keepWaiting(
        _ identity: VerifiedIdentity, name: PersonName?, _ opened: SealedAttempt, _ browser: BrowserBinding,
        _ device: Device
    ) async throws(Failure) -> WaitingPerson? {
        guard configuration.asksExisting else { return nil }
        let (now, attempt) = (clock.now(), opened.used)
        let id: WaitingID = identifiers.make()
        let linked = LinkedIdentity(
            identity: identity, name: name, attempt: attempt, kind: .browser, device: device,
            returnTo: opened.returnTo.location)
        let waiting = WaitingIdentity(
            id: id, attempt: attempt.id, bindingHash: attempt.bindingHash,
            ticketHash: tickets(of: id, in: browser)[0].hash,
            sealedIdentity: linked.seal(for: id, with: keyring), team: provider.team,
            subject: identity.claims.subject, transferSubject: identity.claims.transferSubject,
            expiresAt: now.adding(seconds: Link.lifetime))
        return try await database.keepWaiting(waiting, at: now).flatMap(person)
    }

    /// The person waiting since an earlier post of this attempt.
    func waitingPerson(of opened: SealedAttempt) async throws(Failure) -> WaitingPerson? {
        guard configuration.asksExisting else { return nil }
        return try await database.waiting(attempt: opened.used.id, at: clock.now()).flatMap(person)
    }

    private func person(_ waiting: WaitingIdentity) -> WaitingPerson? {
        guard let linked = LinkedIdentity.open(waiting.sealedIdentity, for: waiting.id, with: keyring) else {
            return nil
        }
        return WaitingPerson(id: waiting.id, name: linked.name, email: linked.identity.claims.email)
    }

    /// The identity that waits in this browser for this link; nil in any other browser, and when there is none.
    package func waitingPerson(for link: Link, binding: BindingCookie) async throws(Failure) -> WaitingPerson? {
        guard let id = link.waiting else { return nil }
        do throws(Failure) {
            let (waiting, browser) = try await waiting(id, binding)
            // Another link has used it, even if that one failed: the page shows Apple's button.
            guard waiting.link == nil || waiting.link == link.id else { return nil }
            try requireOpened(link, in: browser)
            return person(waiting)
        } catch  where [.linkUnknown, .linkExpired].contains(error.code) {
            return nil
        }
    }

    /// Authorizes a link with the identity that waits in this browser, and returns where the browser goes with the
    /// code. `.linkUnknown` in a browser in which nothing waits for this link.
    package func connectWaiting(_ id: LinkID, binding: BindingCookie) async throws(Failure) -> String {
        let link = try await found(id)
        guard let waitingID = link.waiting else { throw Failure(.linkUnknown) }
        let (waiting, browser) = try await waiting(waitingID, binding)
        guard waiting.link == nil || waiting.link == link.id else { throw Failure(.linkUnknown) }
        let content = waitingContent(waitingID, in: browser)
        if let before = try authorized(link, by: content.digest) { return try location(of: before, content) }
        guard let linked = LinkedIdentity.open(waiting.sealedIdentity, for: waitingID, with: keyring) else {
            throw Failure(.linkExpired)
        }
        try requireOpened(link, in: browser)
        let after = try await authorize(link, linked, content: content, waiting: waitingID)
        return try location(of: after, content)
    }

    private func waiting(
        _ id: WaitingID, _ binding: BindingCookie
    ) async throws(Failure) -> (WaitingIdentity, BrowserBinding) {
        guard case .value(let browser) = binding else { throw Failure(.linkUnknown) }
        guard let found = try await database.waiting(id, at: clock.now()) else { throw Failure(.linkExpired) }
        guard constantTimeEquals(found.bindingHash, browser.hash) else { throw Failure(.linkUnknown) }
        // From the former team, before a restart: Apple uses another subject for the person here.
        guard found.team == provider.team else { throw Failure(.linkExpired) }
        return (found, browser)
    }

    private func waitingContent(_ id: WaitingID, in browser: BrowserBinding) -> RequestContent {
        RequestContent([id.rawValue, browser.cookieValue])
    }

    /// Derived from the browser's binding, so that every request gives the same ticket.
    func tickets(of id: WaitingID, in browser: BrowserBinding) -> [LinkTicket] {
        waitingContent(id, in: browser).tokens(
            for: SHA256.hash(utf8: id.rawValue), purpose: "waiting-ticket", with: keyring)
    }

    /// For a person who has an account: the ticket they bring to `login.passwordURL`. `.linkUnknown` in another browser
    /// than the identity's, `.linkExpired` after its time.
    package func ticket(ofWaiting id: WaitingID, binding: BindingCookie) async throws(Failure) -> LinkTicket {
        let (waiting, _, browser) = try await openWaiting(id, binding)
        guard let ticket = tickets(of: id, in: browser).first(where: { $0.hash == waiting.ticketHash })
        else { throw Failure(.linkExpired) }
        return ticket
    }

    /// For a person who is new: creates the user and the session, once. Throws as `ticket`.
    package func signUp(
        waiting id: WaitingID, binding: BindingCookie, device: Device
    ) async throws(Failure) -> SignInOutcome {
        let (_, linked, browser) = try await openWaiting(id, binding)
        let key = SHA256.hash(utf8: "existing|\(id)")
        let opened = SealedAttempt(
            used: linked.attempt, nonce: [],
            returnTo: returnTargets.validate(linked.returnTo) ?? returnTargets.defaultTarget)
        var (outcome, isRemembered) = await answers.answer(for: key) {
            await self.finishNew(linked, opened, browser, device)
        }
        // The session may have ended since; then its cookie is not issued again.
        if isRemembered { outcome = await stillSignedIn(outcome, opened) }
        log(outcome)
        return outcome
    }

    private func openWaiting(
        _ id: WaitingID, _ binding: BindingCookie
    ) async throws(Failure) -> (WaitingIdentity, LinkedIdentity, BrowserBinding) {
        let (waiting, browser) = try await waiting(id, binding)
        guard let linked = LinkedIdentity.open(waiting.sealedIdentity, for: id, with: keyring) else {
            throw Failure(.linkExpired)
        }
        return (waiting, linked, browser)
    }

    private func finishNew(
        _ linked: LinkedIdentity, _ opened: SealedAttempt, _ browser: BrowserBinding, _ device: Device
    ) async -> SignInOutcome {
        do throws(Failure) {
            let tokens = BrowserTokens(of: browser, with: keyring)
            let result = try await complete(
                linked.identity, attempt: linked.attempt, kind: .browser, token: .ofBrowser(tokens), device: device)
            return outcome(of: result, tokens, opened: opened)
        } catch {
            return .failed(error.inSignIn, returnTo: opened.returnTo)
        }
    }
}

/// An identity whose person is asked whether they have an account.
package struct WaitingIdentity: Hashable, Sendable {
    package var id: WaitingID
    package var attempt: Digest256
    package var bindingHash: Digest256
    package var ticketHash: Digest256
    package var sealedIdentity: [UInt8]
    package var team: TeamID
    package var subject: AppleSubject
    /// `transfer_sub`.
    package var transferSubject: String?
    package var expiresAt: Timestamp
    /// The only link that may use it.
    package var link: LinkID?
}

// Identities whose people are asked whether they have an account.
extension Database {
    /// Keeps an identity without a user waiting. Returns what waits for this attempt, now or since earlier; nil when
    /// the identity has a user, or its attempt is used.
    package func keepWaiting(_ identity: WaitingIdentity, at now: Timestamp) async throws(Failure) -> WaitingIdentity? {
        try await write(at: now) { transaction in
            let earlier = try transaction.waiting("attempt = ?", [identity.attempt])
            if let earlier { return earlier }
            // Or moving from another team, and recognised by their transfer subject.
            let isKnown = try transaction.exists(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM apple_identity WHERE team = ?1 AND subject = ?2)
                OR EXISTS (SELECT 1 FROM apple_identity WHERE transfer_target = ?1 AND transfer_subject = ?3)
                OR EXISTS (SELECT 1 FROM used_attempt WHERE attempt = ?4)
                """, [identity.team, identity.subject, identity.transferSubject, identity.attempt])
            guard !isKnown else { return nil }
            let kept = try transaction.change(
                """
                INSERT INTO waiting_identity (id, attempt, binding_hash, ticket_hash, team, subject, sealed_identity,
                expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (attempt) DO NOTHING
                """,
                [
                    identity.id, identity.attempt, identity.bindingHash, identity.ticketHash, identity.team,
                    identity.subject, identity.sealedIdentity, identity.expiresAt,
                ])
            return kept > 0 ? identity : nil
        }
    }

    /// Nil when expired.
    package func waiting(_ id: WaitingID, at now: Timestamp) async throws(Failure) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("id = ?", [id]) }
    }

    package func waiting(ticket: Digest256, at now: Timestamp) async throws(Failure) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("ticket_hash = ?", [ticket]) }
    }

    package func waiting(attempt: Digest256, at now: Timestamp) async throws(Failure) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("attempt = ?", [attempt]) }
    }
}

extension Snapshot {
    /// - Parameter condition: selects one identity.
    fileprivate func waiting(_ condition: String, _ arguments: StatementArguments) throws -> WaitingIdentity? {
        let row = try firstRow(
            """
            SELECT id, attempt, binding_hash, ticket_hash, sealed_identity, team, subject, expires_at, link
            FROM waiting_identity WHERE \(condition)
            """, arguments)
        guard let row else { return nil }
        var found = WaitingIdentity(
            id: try row["id"], attempt: try row["attempt"], bindingHash: try row["binding_hash"],
            ticketHash: try row["ticket_hash"], sealedIdentity: try row["sealed_identity"], team: try row["team"],
            subject: try row["subject"], expiresAt: try row["expires_at"])
        found.link = try row["link"]
        return now < found.expiresAt ? found : nil
    }
}
