import Coding
import Crypto

// The part of a sign-in that is done once for all duplicates of a post.
extension SignIn {
    func work(
        form: CallbackForm, content: RequestContent, opened: OpenedState, browser: BrowserBinding, device: Device,
        keptName: String?
    ) async -> SignInOutcome {
        // Derived, so that the same post gets the same session on another machine.
        let tokens: [SessionToken] = content.tokens(for: opened.id, purpose: "browser-session", with: keyring)
        do throws(SignInFailure) {
            if let repeated = try await outcome(ofRepeated: opened, tokens) { return repeated }
            if let person = try await linking?.waitingPerson(of: opened) { return .asksExisting(person) }
            let callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
            let claims = try await verify(callback)
            let kept = callback.name == nil ? name(keptAs: keptName, for: claims.subject) : nil
            if let consent = consent(of: callback, claims, kept: kept) {
                // Apple sends the name only once. Committed before Apple is asked, it survives a failing exchange.
                try await SignInFailure.mapping(
                    await store.saveFirstConsent(
                        team: consent.team, subject: consent.subject, name: consent.name, at: clock.now()))
            } else {
                // Otherwise the code would be spent for nothing, and the same post later could not succeed.
                try await SignInFailure.mapping(await store.requireWrites(at: clock.now()))
            }
            let name = callback.name ?? kept
            let identity = try await exchange(callback, claims)
            let attempt = SignInAttempt(
                id: opened.id, issuedAt: opened.attempt.issuedAt, bindingHash: opened.attempt.bindingHash,
                replacing: opened.attempt.replacing)
            let waiting = try await linking?.keepWaiting(
                identity, name: name, attempt: attempt, opened, browser, device)
            if let person = waiting {
                return .asksExisting(person)
            }
            let result = try await complete(
                identity, attempt: attempt, kind: .browser, token: tokens[0], device: device)
            if case .alreadyUsed = result, let repeated = try await outcome(ofRepeated: opened, tokens) {
                return repeated
            }
            return try outcome(of: result, token: tokens[0], opened: opened)
        } catch {
            // Another process may have received a duplicate and sent the code first, as during a hand-over.
            if case .codeRefused = error, let repeated = await outcome(ofOvertaken: opened, tokens) { return repeated }
            return .failed(error, retry: opened.returnTo)
        }
    }

    /// The outcome of an attempt that was used before; nil when it was not. The same post, on another machine or after a
    /// restart, gets its session for as long as `CallbackAnswers` would give it.
    private func outcome(
        ofRepeated opened: OpenedState, _ tokens: [SessionToken]
    ) async throws(SignInFailure) -> SignInOutcome? {
        let now = clock.now()
        let used = try await SignInFailure.mapping(await store.usedAttempt(opened.id, at: now))
        guard let used else { return nil }
        let outcome = outcome(of: used, opened: opened)
        guard case .alreadySignedIn = outcome else { return outcome }
        for token in tokens {
            let found = try await SignInFailure.mapping(await store.signedIn(token: token.hash, at: now))
            guard let session = found?.session, session.id == used.session else { continue }
            // Negative when the other process made it after this look began, or by a clock that is a little ahead.
            let age = now.milliseconds - session.createdAt.milliseconds
            guard (-1_000..<CallbackAnswers<SignInOutcome>.lifetime).contains(age) else { break }
            return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        }
        return outcome
    }

    /// The outcome of a post whose code another process has sent; nil when none has. On a shared database that process
    /// may still be waiting for Apple.
    private func outcome(ofOvertaken opened: OpenedState, _ tokens: [SessionToken]) async -> SignInOutcome? {
        for attempt in 0..<(store.isShared ? 30 : 1) {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(100)) }
            if let repeated = try? await outcome(ofRepeated: opened, tokens) { return repeated }
        }
        return nil
    }

    func outcome(
        of result: SignInResult, token: SessionToken, opened: OpenedState
    ) throws(SignInFailure) -> SignInOutcome {
        switch result {
        case .signedIn(_, let session, _): return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        case .alreadyUsed(let used): return outcome(of: used, opened: opened)
        case .pending(let user): return .pending(user)
        case .disabled(let user): return .disabled(user)
        case .closed: return .closed
        case .revoked: throw .revoked
        }
    }
}
