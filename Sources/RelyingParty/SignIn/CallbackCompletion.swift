import Crypto

// The part of a sign-in that is done once for all duplicates of a post.
extension SignIn {
    func work(
        form: CallbackForm, opened: OpenedState, browser: BrowserBinding, device: Device, keptName: String?
    ) async -> SignInOutcome {
        do throws(SignInFailure) {
            if let used = try await SignInFailure.mapping(await store.usedAttempt(opened.id, at: clock.now())) {
                return outcome(of: used, opened: opened)
            }
            if let person = try await linking?.waitingPerson(of: opened) { return .asksExisting(person) }
            let callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
            let claims = try await verify(callback)
            let kept = callback.name == nil ? name(keptAs: keptName, for: claims.subject) : nil
            if let consent = consent(of: callback, claims, kept: kept) {
                // Apple sends the name only once. Committed before Apple is asked, it survives a failing exchange.
                try await SignInFailure.mapping(
                    await store.saveFirstConsent(
                        team: consent.team, subject: consent.subject, name: consent.name, at: clock.now()))
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
            let token = SessionToken.make(random: random)
            let result = try await complete(identity, attempt: attempt, kind: .browser, token: token, device: device)
            return try outcome(of: result, token: token, opened: opened)
        } catch {
            // Another process may have received a duplicate and sent the code first, as during a hand-over.
            if case .codeRefused = error, let used = try? await store.usedAttempt(opened.id, at: clock.now()) {
                return outcome(of: used, opened: opened)
            }
            return .failed(error, retry: opened.returnTo)
        }
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
