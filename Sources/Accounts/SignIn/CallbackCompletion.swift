import Coding
import Crypto
import Storage

/// One post to the callback: its form is parsed once, and its state opened once. Only `SignIn.receive` makes one.
package struct ReceivedCallback: Sendable {
    let form: Result<CallbackForm, Failure>
    /// Nil when the state is not ours.
    let opened: SealedAttempt?
    /// Whether its state was too old when it arrived.
    let isStale: Bool
    package let binding: BindingCookie

    /// Where the browser goes after the sign-in; nil when the state is not ours.
    package var returnTo: ReturnTarget? { opened?.returnTo }
    /// Where it goes when cancelled.
    package var errorReturn: ReturnTarget? { opened?.errorReturn }
    /// The language chosen where the attempt began. Only for a page's texts: the callback has not been checked.
    package var language: String? { opened?.language }
    /// The link that Apple's answer is for, instead of a sign-in.
    package var link: LinkID? { opened?.link }

    var name: PersonName? {
        guard let name = try? form.get().name, !name.isEmpty else { return nil }
        return name
    }

    /// Whether this browser began the attempt.
    var isOfItsBrowser: Bool {
        guard case .value(let value) = binding, let opened else { return false }
        return constantTimeEquals(value.hash.bytes, opened.used.bindingHash.bytes)
    }

    /// - Parameter sameOrigin: only a post with the re-post flag needs it.
    func checked(sameOrigin: Bool) throws(Failure) -> (CallbackForm, SealedAttempt) {
        let form = try form.get()
        guard !form.isRepost || sameOrigin else {
            throw Failure(.malformedCallback, "the flag of our own pages came from another origin")
        }
        guard let opened else { throw Failure(.invalidState) }
        return (form, opened)
    }
}

/// Apple's answer to an attempt of ours, from the right browser or from an app: its code may be sent to Apple, once.
struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let kind: SessionKind
    let name: PersonName?
    /// As it must be in Apple's token.
    let nonce: String
    /// The accepted audiences of the token.
    let clients: [ClientID]
}

extension ValidatedCallback {
    init(form: CallbackForm, opened: SealedAttempt, servicesID: ClientID) throws(Failure) {
        guard let code = form.code, !code.isEmpty else { throw Failure(.malformedCallback, "code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw Failure(.malformedCallback, "id_token is missing")
        }
        self.init(
            code: code, identityToken: identityToken, kind: .browser, name: form.name,
            nonce: Base64URL.encode(opened.nonce), clients: [servicesID])
    }
}

extension SignIn {
    /// Reads one post to the callback, a form bounded by the caller, without a lookup or a verification.
    package func receive(_ body: [UInt8], binding: BindingCookie) -> ReceivedCallback {
        let form = Result { () throws(Failure) in try provider.parseCallback(body) }
        let state = (try? form.get())?.state
        let opened = state.flatMap { SealedAttempt.open($0, with: keyring, returnTargets) }
        return ReceivedCallback(
            form: form, opened: opened, isStale: opened.map { isStale(issuedAt: $0.used.issuedAt) } ?? false,
            binding: binding)
    }
}

// The part of a sign-in that runs once for all duplicates of a post.
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
                // If nothing can be written, the code must not be spent: the same post may succeed later.
                try await Failure.ofStore(await database.store.requireWrites(at: clock.now()))
            }
            let name = callback.name ?? kept
            let identity = try await exchange(callback, claims)
            if let person = try await keepWaiting(identity, name: name, opened, browser, device) {
                return .asksExisting(person)
            }
            let result = try await complete(
                identity, attempt: opened.used, kind: .browser, token: .ofBrowser(tokens), device: device)
            if case .alreadyUsed(let used) = result {
                return try await outcome(ofRepeated: used, by: claims.subject, tokens, opened)
            }
            return outcome(of: result, tokens, opened: opened)
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

    func usedAttempt(_ opened: SealedAttempt) async throws(Failure) -> UsedAttempt? {
        try await database.usedAttempt(opened.used.id, at: clock.now())
    }

    /// The browser's binding is not enough to get the token: Apple's token for this attempt is required too.
    private func outcome(
        ofRepeated used: UsedAttempt, _ form: CallbackForm, _ tokens: BrowserTokens, _ opened: SealedAttempt
    ) async throws(Failure) -> SignInOutcome {
        guard let callback = try? ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID),
            let claims = try? await verify(callback)
        else { return outcome(of: used, opened: opened) }
        return try await outcome(ofRepeated: used, by: claims.subject, tokens, opened)
    }

    /// The outcome of a used attempt: the same person's post gets its session as long as `CallbackAnswers` keeps it.
    private func outcome(
        ofRepeated used: UsedAttempt, by subject: AppleSubject, _ tokens: BrowserTokens, _ opened: SealedAttempt
    ) async throws(Failure) -> SignInOutcome {
        let outcome = outcome(of: used, opened: opened)
        guard case .alreadySignedIn = outcome, let id = used.session, let began = used.sessionBegan else {
            return outcome
        }
        let now = clock.now()
        // Negative when another process created it after this lookup began, or by a clock that is a little ahead.
        let age = now.milliseconds - began.milliseconds
        guard (-1_000..<CallbackAnswers<SignInOutcome>.lifetime).contains(age) else { return outcome }
        for token in tokens.all(of: id, since: began) {
            let found = try await database.signedIn(token: token.hash, at: now)
            guard let found, found.user.appleSubject == subject else { continue }
            return .signedIn(token: token, session: found.session, returnTo: opened.returnTo)
        }
        return outcome
    }

    /// The outcome of a post whose code another process, which may still wait for Apple, has sent; nil when none has.
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

    func outcome(of result: SignInResult, _ tokens: BrowserTokens, opened: SealedAttempt) -> SignInOutcome {
        switch result {
        case .signedIn(_, let session, _):
            let token = tokens.all(of: session.id, since: session.createdAt).first { $0.hash == session.tokenHash }
            guard let token else { return .alreadySignedIn(returnTo: opened.returnTo) }
            return .signedIn(token: token, session: session, returnTo: opened.returnTo)
        case .alreadyUsed(let used): return outcome(of: used, opened: opened)
        case .refused(let refusal, let user): return .refused(refusal, user)
        }
    }
}
