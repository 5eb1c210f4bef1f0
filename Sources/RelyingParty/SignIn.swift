import Coding
package import Crypto
package import Instruments
package import Logging

/// Signing in, from the login page to the session: seals attempts, and turns a post to the callback into an outcome.
///
/// The order of checks is the security of it: parse → state opens → young enough → this browser's → never used →
/// identity token → first-consent data made safe → code exchanged → one transaction. An unauthenticated request
/// writes nothing.
package final class SignIn: Sendable {
    let provider: any IdentityProvider
    let store: any SignInStore & SessionStore
    let keyring: SealingKeyring
    let configuration: SignInConfiguration
    let clock: any WallClock
    let random: any RandomSource
    let identifiers: RandomIdentifier
    let logger: Logger
    let answers: CallbackAnswers<SignInOutcome>
    let nativeAnswers: CallbackAnswers<NativeSignInOutcome>
    let links: (any LinkStore)?
    let verifier: (any AccountVerifier)?
    let linkAnswers: CallbackAnswers<LinkAnswer>
    let usernameLimit: UsernameLimit
    /// How sign-ins ended.
    package let metrics = CounterGrid<SignInFlow, SignInEnd>()

    /// - Parameters:
    ///   - links: the same store; without it nobody is linked to anything.
    ///   - verifier: nil unless `upgrade.verifierURL` is set.
    package init(
        provider: any IdentityProvider, store: any SignInStore & SessionStore, keyring: SealingKeyring,
        configuration: SignInConfiguration, clock: any WallClock, random: any RandomSource, logger: Logger,
        links: (any LinkStore)? = nil, verifier: (any AccountVerifier)? = nil
    ) {
        self.provider = provider
        self.store = store
        self.keyring = keyring
        self.configuration = configuration
        self.clock = clock
        self.random = random
        identifiers = RandomIdentifier(random: BufferedRandom(random))
        self.logger = logger
        self.answers = CallbackAnswers(clock: clock)
        self.nativeAnswers = CallbackAnswers(clock: clock)
        self.links = links
        self.verifier = verifier
        self.linkAnswers = CallbackAnswers(clock: clock)
        self.usernameLimit = UsernameLimit(maximum: configuration.upgradesPerAccount, keyring: keyring)
    }

    /// A fresh attempt for one login page or one tap. Nothing is stored; many may be open at once.
    /// - Parameters:
    ///   - binding: the browser's binding, just made or kept.
    ///   - replacing: the session the browser has now; ended when this attempt completes.
    ///   - language: of the page, when it was chosen for this sign-in; at most 35 bytes of a tag. Pages after Apple
    ///     speak it too.
    package func begin(
        binding: BrowserBinding, returnTo: ReturnTarget, replacing: SessionID?, language: String? = nil
    ) -> Attempt {
        begin(binding: binding, returnTo: returnTo, replacing: replacing, language: language, link: nil)
    }

    /// - Parameter link: what Apple's answer is for, instead of a sign-in.
    func begin(
        binding: BrowserBinding, returnTo: ReturnTarget, replacing: SessionID?, language: String?, link: LinkKey?
    ) -> Attempt {
        let now = clock.now()
        let nonce = random.bytes(SealedAttempt.nonceByteCount)
        let sealed = SealedAttempt(
            nonce: nonce, issuedAt: now, bindingHash: binding.hash, returnTo: returnTo.location, replacing: replacing,
            language: language, link: link)
        return Attempt(
            state: sealed.seal(with: keyring), nonce: Base64URL.encode(nonce),
            expiresAt: now.adding(seconds: configuration.attemptLifetime),
            renewAfter: max(1, configuration.attemptLifetime * 2 / 5))
    }

    /// Apple's authorize endpoint for this attempt, for a 303 or a link.
    package func authorizeURL(for attempt: Attempt) -> String {
        provider.authorizeURL(state: attempt.state, nonce: attempt.nonce)
    }

    /// The language chosen where the attempt of this callback began; nil when none was, or the state is not ours. For
    /// the words of a page: nothing else about the callback has been checked.
    package func chosenLanguage(ofCallback body: [UInt8]) -> String? {
        guard let state = (try? provider.parseCallback(body))?.state else { return nil }
        return SealedAttempt.open(state, with: keyring)?.language
    }

    /// Answers one post to the callback.
    ///
    /// Identical posts of one browser join: they share the work in flight and for 30 s its answer. The work runs in
    /// the task of the first of them.
    /// - Parameters:
    ///   - body: the form as it came, bounded by the caller.
    ///   - sameOrigin: the request comes from a page of ours (`Sec-Fetch-Site`, else `Origin`). Only a post with the
    ///     re-post flag needs it.
    ///   - keptName: what `nameToKeep` gave this browser after an earlier try, as the browser sent it back.
    package func complete(
        body: [UInt8], binding: BindingCookie, sameOrigin: Bool, device: Device, keptName: String? = nil
    ) async -> SignInOutcome {
        let outcome = await outcome(
            of: body, binding: binding, sameOrigin: sameOrigin, device: device, keptName: keptName)
        log(outcome)
        metrics.increment(.web, SignInEnd(outcome))
        return outcome
    }

    /// A failure of an attempt whose state opened.
    private func failed(_ failure: SignInFailure, _ opened: OpenedState) -> SignInOutcome {
        guard let link = opened.attempt.link else { return .failed(failure, retry: opened.returnTo) }
        return .linkFailed(.signIn(failure), link: link, returnTo: opened.returnTo)
    }

    private func outcome(
        of body: [UInt8], binding: BindingCookie, sameOrigin: Bool, device: Device, keptName: String?
    ) async -> SignInOutcome {
        let form: CallbackForm
        let opened: OpenedState
        do throws(SignInFailure) {
            form = try provider.parseCallback(body)
            guard !form.isRepost || sameOrigin else {
                throw SignInFailure.malformedCallback("the flag of our own pages came from another origin")
            }
            opened = try open(form.state)
        } catch {
            return .failed(error, retry: nil)
        }
        let browser: BrowserBinding
        switch binding {
        case .absent where opened.isStale: return failed(.staleState, opened)
        case .absent where form.isRepost: return failed(.missingBinding, opened)
        case .absent: return .repost(form)
        case .value(let value) where constantTimeEquals(value.hash.bytes, opened.attempt.bindingHash.bytes):
            browser = value
        case .value, .invalid:
            return failed(opened.isStale ? .staleState : .wrongBrowser, opened)
        }
        if opened.isStale {
            // A completed callback reloaded late is still its browser's own.
            return await replayOutcome(opened, otherwise: .staleState)
        }
        if let error = form.error {
            // RFC 6749 §4.1.2.1; the only one Apple is known to send is the visitor's own choice.
            let cancelled = error == "user_cancelled_authorize"
            return failed(cancelled ? .cancelled : .providerError(error), opened)
        }
        let key = Self.key(of: form, binding: browser)
        let (outcome, isRemembered) = await answers.answer(for: key) {
            guard let link = opened.attempt.link else {
                return await self.work(form: form, opened: opened, device: device, keptName: keptName)
            }
            return await self.linkWork(link, form: form, opened: opened, device: device, keptName: keptName)
        }
        if isRemembered, case .signedIn = outcome {
            // The session may have ended since: then its cookie is not handed out again.
            return await stillSignedIn(outcome, opened)
        }
        return outcome
    }

    /// The state of a callback, opened: authentic, its age known, its return target validated again.
    struct OpenedState: Sendable {
        var id: Digest256
        var attempt: SealedAttempt
        var isStale: Bool
        var returnTo: ReturnTarget
    }

    func open(_ state: String?) throws(SignInFailure) -> OpenedState {
        guard let state, let attempt = SealedAttempt.open(state, with: keyring) else { throw .invalidState }
        let targets = configuration.returnTargets
        return OpenedState(
            id: SealedAttempt.identifier(of: state, issuedAt: attempt.issuedAt), attempt: attempt,
            isStale: isStale(issuedAt: attempt.issuedAt),
            returnTo: targets.validate(attempt.returnTo) ?? targets.defaultTarget)
    }

    /// An attempt from the future would live longer than it may; a minute covers a clock being corrected.
    func isStale(issuedAt: Timestamp) -> Bool {
        let now = clock.now()
        return now >= issuedAt.adding(seconds: configuration.attemptLifetime) || now.adding(seconds: 60) < issuedAt
    }

    /// What tells two posts of one browser apart: every field but the re-post flag, and the binding.
    private static func key(of form: CallbackForm, binding: BrowserBinding) -> Digest256 {
        let fields = [form.state, form.code, form.identityToken, form.rawUser, form.error]
        var bytes = binding.hash.bytes
        bytes.reserveCapacity(fields.reduce(bytes.count) { $0 + 5 + ($1?.utf8.count ?? 0) })
        for field in fields {
            let text = (field ?? "").utf8
            bytes.append(field == nil ? 0 : 1)
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: text.count >> shift))
            }
            bytes.append(contentsOf: text)
        }
        return SHA256.hash(bytes)
    }

    /// The remembered answer while its session lives; else what a replay gets.
    func stillSignedIn(_ outcome: SignInOutcome, _ opened: OpenedState) async -> SignInOutcome {
        do {
            if let used = try await store.usedAttempt(opened.id, at: clock.now()), used.sessionIsLive { return outcome }
            return .failed(.replayed, retry: opened.returnTo)
        } catch {
            return .failed(.storage(error.text), retry: opened.returnTo)
        }
    }

    /// The answer to an attempt that was used before, or that is too old: 303 while its session lives.
    private func replayOutcome(_ opened: OpenedState, otherwise failure: SignInFailure) async -> SignInOutcome {
        do {
            guard let used = try await store.usedAttempt(opened.id, at: clock.now()) else {
                return failed(failure, opened)
            }
            return outcome(of: used, opened: opened)
        } catch {
            return .failed(.storage(error.text), retry: opened.returnTo)
        }
    }

    func outcome(of used: UsedAttempt, opened: OpenedState) -> SignInOutcome {
        guard used.sessionIsLive, used.bindingHash == opened.attempt.bindingHash else {
            return .failed(.replayed, retry: opened.returnTo)
        }
        return .alreadySignedIn(returnTo: opened.returnTo)
    }
}
