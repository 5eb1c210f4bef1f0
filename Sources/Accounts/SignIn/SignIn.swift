package import Coding
package import Crypto
import Logging
package import Storage

/// Sign-in, from the login page to the session: seals attempts, and turns a post to the callback into an outcome.
///
/// Its security is the order of checks: parse → state opens → young enough → this browser's → never used → identity
/// token → first-consent data stored → code exchanged → one transaction. An unauthenticated request writes nothing.
package final class SignIn: Sendable {
    let provider: any IdentityProvider
    let database: Database
    let keyring: SealingKeyring
    let configuration: SignInConfiguration
    let returnTargets: ReturnTargets
    let identifiers: RandomIdentifier
    private let runtime: Runtime

    let answers: CallbackAnswers<SignInOutcome>
    // Shared by identical requests only while the first is running: the store keeps the result.
    let nativeAnswers: CallbackAnswers<NativeSignInOutcome>
    let linkAuthorizations: CallbackAnswers<Result<LinkCode, Failure>>
    let linkCompletions: CallbackAnswers<Result<User, Failure>>
    package let metrics = CounterGrid<SignInFlow, SignInEnd>()

    package init(
        provider: any IdentityProvider, database: Database, keyring: SealingKeyring,
        configuration: SignInConfiguration, returnTargets: ReturnTargets, runtime: Runtime
    ) {
        self.provider = provider
        self.database = database
        self.keyring = keyring
        self.configuration = configuration
        self.returnTargets = returnTargets
        self.runtime = runtime
        identifiers = RandomIdentifier(random: BufferedRandom(runtime.random))
        answers = CallbackAnswers(clock: runtime.clock) { $0.isKept }
        nativeAnswers = CallbackAnswers(clock: runtime.clock) { _ in false }
        linkAuthorizations = CallbackAnswers(clock: runtime.clock) { _ in false }
        linkCompletions = CallbackAnswers(clock: runtime.clock) { _ in false }
    }

    var clock: any WallClock { runtime.clock }
    var random: any RandomSource { runtime.random }
    var logger: Logger { runtime.logger }

    /// A new attempt for one login page or one tap. Nothing is stored; many may be open at once.
    /// - Parameters:
    ///   - replacing: the browser's present session, which ends when this attempt completes.
    ///   - language: of this and later pages, when it was chosen for this sign-in; a tag of at most 35 bytes.
    ///   - link: the link that Apple's answer is for, instead of a sign-in.
    ///   - errorReturn: where the browser goes when its visitor cancels at Apple; nil shows a page of ours.
    package func begin(
        binding: BrowserBinding, returnTo: ReturnTarget, replacing: SessionID?, language: String? = nil,
        link: LinkID? = nil, errorReturn: ReturnTarget? = nil
    ) -> Attempt {
        let now = clock.now()
        let nonce = random.bytes(SealedAttempt.nonceByteCount)
        let sealed = SealedAttempt(
            used: SignInAttempt(issuedAt: now, bindingHash: binding.hash, replacing: replacing), nonce: nonce,
            returnTo: returnTo, errorReturn: errorReturn, language: language, link: link)
        return Attempt(
            state: sealed.seal(with: keyring), nonce: Base64URL.encode(nonce),
            expiresAt: now.adding(seconds: configuration.attemptLifetime),
            renewAfter: max(1, configuration.attemptLifetime * 2 / 5))
    }

    /// Apple's authorize endpoint for this attempt, for a 303 or a link.
    package func authorizeURL(for attempt: Attempt) -> String {
        provider.authorizeURL(state: attempt.state, nonce: attempt.nonce)
    }

    /// An attempt from the future would live too long; a minute covers a corrected clock.
    func isStale(issuedAt: Timestamp) -> Bool {
        let now = clock.now()
        return now >= issuedAt.adding(seconds: configuration.attemptLifetime) || now.adding(seconds: 60) < issuedAt
    }

    /// Answers to apps and for links are not kept.
    package func dropExpiredAnswers() { answers.dropExpired() }

    /// Answers one post to the callback.
    ///
    /// Identical posts of one browser share the work in progress and, for 30 s, its answer. The work runs in the task
    /// of the first of them.
    /// - Parameters:
    ///   - sameOrigin: the request comes from a page of ours (`Sec-Fetch-Site`, otherwise `Origin`). Only a post with
    ///     the re-post flag needs it.
    ///   - keptName: the value of `nameToKeep` after an earlier attempt, as the browser returned it.
    package func complete(
        _ callback: ReceivedCallback, sameOrigin: Bool, device: Device, keptName: String? = nil
    ) async -> SignInOutcome {
        let outcome = await outcome(of: callback, sameOrigin: sameOrigin, device: device, keptName: keptName)
        log(outcome)
        metrics.increment(.web, SignInEnd(outcome))
        return outcome
    }

    /// A failure after the state opened.
    private func failed(_ code: ReasonCode, _ opened: SealedAttempt, _ detail: String? = nil) -> SignInOutcome {
        .failed(Failure(code, detail), returnTo: opened.returnTo, link: opened.link)
    }

    private func outcome(
        of callback: ReceivedCallback, sameOrigin: Bool, device: Device, keptName: String?
    ) async -> SignInOutcome {
        let form: CallbackForm
        let opened: SealedAttempt
        do throws(Failure) {
            (form, opened) = try callback.checked(sameOrigin: sameOrigin)
        } catch {
            return .failed(error)
        }
        let browser: BrowserBinding
        switch callback.binding {
        case .absent where callback.isStale: return failed(.staleState, opened)
        case .absent where form.isRepost: return failed(.missingBinding, opened)
        case .absent: return .repost(form)
        case .value(let value) where callback.isOfItsBrowser: browser = value
        case .value, .invalid: return failed(callback.isStale ? .staleState : .wrongBrowser, opened)
        }
        if callback.isStale {
            // A late reload of a completed callback, by the same browser.
            return await replayOutcome(opened, otherwise: .staleState)
        }
        if let error = form.error {
            // RFC 6749 §4.1.2.1; the only error Apple is known to send is the visitor's own choice.
            let cancelled = error == "user_cancelled_authorize"
            if cancelled, let errorReturn = opened.errorReturn ?? opened.returnTo.cancelReturn {
                return .cancelled(errorReturn, returnTo: opened.returnTo)
            }
            return cancelled ? failed(.cancelled, opened) : failed(.providerError, opened, error)
        }
        // Two posts of one browser are identical when all fields but the re-post flag, and the binding, are equal.
        let content = RequestContent([
            form.state, form.code, form.identityToken, form.rawUser, form.error, browser.cookieValue,
        ])
        let (outcome, isRemembered) = await answers.answer(for: content.digest) {
            guard let link = opened.link else {
                return await self.work(form: form, opened: opened, browser: browser, device: device, keptName: keptName)
            }
            return await self.complete(link, form: form, opened: opened, device: device, keptName: keptName)
        }
        // The session may have ended since; then its cookie is not issued again.
        return isRemembered ? await stillSignedIn(outcome, opened) : outcome
    }

    /// The remembered answer while its token is accepted; otherwise the answer to a replay.
    func stillSignedIn(_ outcome: SignInOutcome, _ opened: SealedAttempt) async -> SignInOutcome {
        guard case .signedIn(let token, _, _) = outcome else { return outcome }
        do {
            if try await database.signedIn(token: token.hash, at: clock.now()) != nil { return outcome }
            // It continues under another token, which the browser has.
            return try await usedAttempt(opened).map { self.outcome(of: $0, opened: opened) }
                ?? .failed(Failure(.replayed), returnTo: opened.returnTo)
        } catch {
            return .failed(error.inSignIn, returnTo: opened.returnTo)
        }
    }

    /// The answer to an attempt that was used before or has expired: 303 while its session lives.
    private func replayOutcome(_ opened: SealedAttempt, otherwise code: ReasonCode) async -> SignInOutcome {
        do {
            return try await usedAttempt(opened).map { outcome(of: $0, opened: opened) } ?? failed(code, opened)
        } catch {
            return .failed(error.inSignIn, returnTo: opened.returnTo)
        }
    }

    func outcome(of used: UsedAttempt, opened: SealedAttempt) -> SignInOutcome {
        guard used.sessionIsLive, used.bindingHash == opened.used.bindingHash else {
            return .failed(Failure(.replayed), returnTo: opened.returnTo)
        }
        return .alreadySignedIn(returnTo: opened.returnTo)
    }

    /// One line per callback, with a reason code. Never a token, a code, a name or an address.
    func log(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn(_, let session, _):
            logger.info("signed in", metadata: ["user": "\(session.user)", "session": "\(session.id)"])
        case .alreadySignedIn:
            logger.info("callback replayed in the same browser")
        case .repost:
            logger.info("callback without the binding cookie; posting it again")
        case .cancelled: refused(.cancelled, nil)
        case .asksExisting(let person):
            logger.info("visitor asked for an existing account", metadata: ["waiting": "\(person.id)"])
        // Links are logged where they are authorized; the others where the visitor is answered, with their error ID.
        case .linkAuthorized, .refused, .failed: break
        }
    }

    func refused(_ code: ReasonCode, _ user: UserID?) {
        var metadata: Logger.Metadata = ["reason": "\(code.rawValue)"]
        if let user { metadata["user"] = "\(user)" }
        logger.info("sign-in refused", metadata: metadata)
    }
}

/// The operator's configuration of sign-ins.
package struct SignInConfiguration: Sendable {
    package static let maximumAttemptLifetime: Int64 = 600

    /// `login.attemptLifetime`: seconds between the login page and Apple's answer.
    package var attemptLifetime = maximumAttemptLifetime
    /// `access.signUp`.
    package var signUp: SignUpPolicy
    /// `apple.nativeNonce`: whether apps pass the nonce itself to Apple, and not its SHA-256 in lower-case hexadecimal.
    /// Apple's token repeats it. Exactly one of the two: a server that accepts both lets a request for one flow pass in
    /// the other.
    package var nativeNonceIsRaw = false
    /// `login.askExistingAccount`: whether a new person is asked if they have an account.
    package var asksExisting = false

    package init(signUp: SignUpPolicy = .closed) { self.signUp = signUp }

    /// The `nonce` claim of a token that answers this challenge.
    func nativeClaim(for nonce: String) -> String {
        nativeNonceIsRaw ? nonce : Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
    }
}
