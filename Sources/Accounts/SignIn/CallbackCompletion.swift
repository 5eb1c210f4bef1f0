import Coding
import Crypto
import Storage

// The part of a sign-in that is done once for all duplicates of a post.
extension SignIn {
    func work(
        form: CallbackForm, opened: SealedAttempt, browser: BrowserBinding, device: Device, keptName: String?
    ) async -> SignInOutcome {
        let tokens = BrowserTokens(of: browser, with: keyring)
        var subject: AppleSubject?
        do throws(Failure) {
            if let used = try await usedAttempt(opened) {
                return try await outcome(ofRepeated: used, form, tokens, opened)
            }
            if let person = try await waitingPerson(of: opened) { return .asksExisting(person) }
            let callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
            let claims = try await verify(callback)
            subject = claims.subject
            let kept = callback.name == nil ? name(keptAs: keptName, for: claims.subject) : nil
            if let consent = consent(of: callback, claims, kept: kept) {
                // Apple sends the name only once. Committed before Apple is asked, it survives a failing exchange.
                try await database.saveFirstConsent(consent, at: clock.now())
            } else {
                // Otherwise the code would be spent for nothing, and the same post later could not succeed.
                try await Failure.ofStore(await database.store.requireWrites(at: clock.now()))
            }
            let name = callback.name ?? kept
            let identity = try await exchange(callback, claims)
            let attempt = opened.used
            if let person = try await keepWaiting(identity, name: name, attempt: attempt, opened, browser, device) {
                return .asksExisting(person)
            }
            let result = try await complete(
                identity, attempt: attempt, kind: .browser, token: .ofBrowser(tokens), device: device)
            if case .alreadyUsed(let used) = result {
                return try await outcome(ofRepeated: used, by: claims.subject, tokens, opened)
            }
            return try outcome(of: result, tokens, opened: opened)
        } catch {
            // Another process may have received a duplicate and sent the code first, as during a hand-over.
            if error.code == .codeRefused, let subject,
                let repeated = await outcome(ofOvertaken: opened, by: subject, tokens)
            {
                return repeated
            }
            return .failed(error.inSignIn, returnTo: opened.returnTo)
        }
    }

    private func usedAttempt(_ opened: SealedAttempt) async throws(Failure) -> UsedAttempt? {
        try await database.usedAttempt(opened.used.id, at: clock.now())
    }

    /// Who has the browser's binding alone gets no token: it takes what Apple signed for this attempt.
    private func outcome(
        ofRepeated used: UsedAttempt, _ form: CallbackForm, _ tokens: BrowserTokens, _ opened: SealedAttempt
    ) async throws(Failure) -> SignInOutcome {
        guard let callback = try? ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID),
            let claims = try? await verify(callback)
        else { return outcome(of: used, opened: opened) }
        return try await outcome(ofRepeated: used, by: claims.subject, tokens, opened)
    }

    /// The outcome of an attempt that was used before. The same person's post, on another machine or after a restart,
    /// gets its session for as long as `CallbackAnswers` would give it.
    private func outcome(
        ofRepeated used: UsedAttempt, by subject: AppleSubject, _ tokens: BrowserTokens, _ opened: SealedAttempt
    ) async throws(Failure) -> SignInOutcome {
        let outcome = outcome(of: used, opened: opened)
        guard case .alreadySignedIn = outcome, let id = used.session, let began = used.sessionBegan else {
            return outcome
        }
        let now = clock.now()
        // Negative when the other process made it after this look began, or by a clock that is a little ahead.
        let age = now.milliseconds - began.milliseconds
        guard (-1_000..<CallbackAnswers<SignInOutcome>.lifetime).contains(age) else { return outcome }
        for token in tokens.all(of: id, since: began) {
            let found = try await database.signedIn(token: token.hash, at: now)
            guard let found, found.user.appleSubject == subject else { continue }
            return .signedIn(token: token, session: found.session, returnTo: opened.returnTo)
        }
        return outcome
    }

    /// The outcome of a post whose code another process has sent; nil when none has. On a shared database that process
    /// may still be waiting for Apple.
    private func outcome(
        ofOvertaken opened: SealedAttempt, by subject: AppleSubject, _ tokens: BrowserTokens
    ) async -> SignInOutcome? {
        for attempt in 0..<(database.store.isShared ? 30 : 1) {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(100)) }
            if let used = try? await usedAttempt(opened) {
                return try? await outcome(ofRepeated: used, by: subject, tokens, opened)
            }
        }
        return nil
    }

    func outcome(
        of result: SignInResult, _ tokens: BrowserTokens, opened: SealedAttempt
    ) throws(Failure) -> SignInOutcome {
        switch result {
        case .signedIn(_, let session, _):
            let token = tokens.all(of: session.id, since: session.createdAt).first { $0.hash == session.tokenHash }
            guard let token else { return .alreadySignedIn(returnTo: opened.returnTo) }
            return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        case .alreadyUsed(let used): return outcome(of: used, opened: opened)
        case .refused(.revoked, _): throw Failure(.revoked)
        case .refused(let refusal, let user): return .refused(refusal, user)
        }
    }
}
