package import Coding
import Crypto
import Storage

/// Sign-in, from the login page to the session: seals attempts, and turns a post to the callback into an outcome.
///
/// Its security is the order of checks: parse → state opens → young enough → this browser's → never used → identity
/// token → first-consent data stored → code exchanged → one transaction. An unauthenticated request writes nothing.
package final class SignIn: SignInSteps {
    package let parts: SignInParts
    /// Nil when links are not configured.
    package let linking: Linking?
    let answers: CallbackAnswers<SignInOutcome>
    let nativeAnswers: CallbackAnswers<NativeSignInOutcome>
    /// Counts how sign-ins ended.
    package let metrics = CounterGrid<SignInFlow, SignInEnd>()

    package init(_ parts: SignInParts, linking: Linking? = nil) {
        self.parts = parts
        self.linking = linking
        answers = CallbackAnswers(clock: parts.runtime.clock) { $0.isKept }
        // The store knows the result of a challenge, for every process and after a restart.
        nativeAnswers = CallbackAnswers(clock: parts.runtime.clock) { _ in false }
    }

    /// A new attempt for one login page or one tap. Nothing is stored; many may be open at once.
    /// - Parameters:
    ///   - binding: the browser's binding, new or kept.
    ///   - replacing: the browser's present session, which ends when this attempt completes.
    ///   - language: of the page, when it was chosen for this sign-in; a tag of at most 35 bytes. Later pages use it
    ///     too.
    ///   - errorReturn: where the browser goes when its visitor cancels at Apple; nil shows a page of ours.
    package func begin(
        binding: BrowserBinding, returnTo: ReturnTarget, replacing: SessionID?, language: String? = nil,
        errorReturn: ReturnTarget? = nil
    ) -> Attempt {
        begin(
            binding: binding, returnTo: returnTo, replacing: replacing, language: language, link: nil,
            errorReturn: errorReturn)
    }

    /// Drops answers that have expired. Those to apps and about links are not kept.
    package func dropExpiredAnswers() { answers.dropExpired() }

    /// Answers one post to the callback.
    ///
    /// Identical posts of one browser share the work in progress and, for 30 s, its answer. The work runs in the task
    /// of the first of them.
    /// - Parameters:
    ///   - sameOrigin: the request comes from a page of ours (`Sec-Fetch-Site`, otherwise `Origin`). Only a post with
    ///     the re-post flag needs it.
    ///   - keptName: what `nameToKeep` gave this browser after an earlier attempt, as the browser sent it back.
    package func complete(
        _ callback: ReceivedCallback, sameOrigin: Bool, device: Device, keptName: String? = nil
    ) async -> SignInOutcome {
        let outcome = await outcome(of: callback, sameOrigin: sameOrigin, device: device, keptName: keptName)
        log(outcome)
        metrics.increment(.web, SignInEnd(outcome))
        return outcome
    }

    /// A failure after the state opened.
    private func failed(_ code: ReasonCode, _ opened: OpenedState, _ detail: String? = nil) -> SignInOutcome {
        .failed(Failure(code, detail), returnTo: opened.returnTo, link: opened.attempt.link)
    }

    private func outcome(
        of callback: ReceivedCallback, sameOrigin: Bool, device: Device, keptName: String?
    ) async -> SignInOutcome {
        let form: CallbackForm
        let opened: OpenedState
        do throws(Failure) {
            (form, opened) = try callback.checked(sameOrigin: sameOrigin)
        } catch {
            return .failed(error)
        }
        let browser: BrowserBinding
        switch callback.binding {
        case .absent where opened.isStale: return failed(.staleState, opened)
        case .absent where form.isRepost: return failed(.missingBinding, opened)
        case .absent: return .repost(form)
        case .value(let value) where callback.isOfItsBrowser: browser = value
        case .value, .invalid: return failed(opened.isStale ? .staleState : .wrongBrowser, opened)
        }
        if opened.isStale {
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
        let content = Self.content(of: form, binding: browser)
        let (outcome, isRemembered) = await answers.answer(for: content.digest) {
            guard let link = opened.attempt.link else {
                return await self.work(
                    form: form, opened: opened, browser: browser, device: device, keptName: keptName)
            }
            guard let linking = self.linking else {
                return self.failed(.linkUnknown, opened)
            }
            return await linking.complete(link, form: form, opened: opened, device: device, keptName: keptName)
        }
        // The session may have ended since; then its cookie is not issued again.
        return isRemembered ? await stillSignedIn(outcome, opened) : outcome
    }

    /// What distinguishes two posts of one browser: every field but the re-post flag, and the binding.
    private static func content(of form: CallbackForm, binding: BrowserBinding) -> RequestContent {
        RequestContent([
            form.state, form.code, form.identityToken, form.rawUser, form.error, binding.cookieValue,
        ])
    }

    /// The remembered answer while its token is accepted; otherwise the answer to a replay.
    func stillSignedIn(_ outcome: SignInOutcome, _ opened: OpenedState) async -> SignInOutcome {
        guard case .signedIn(let token, _, _) = outcome else { return outcome }
        do {
            let now = clock.now()
            if try await database.signedIn(token: token.hash, at: now) != nil { return outcome }
            // It goes on under another token, which the browser has.
            if let used = try await database.usedAttempt(opened.id, at: now) {
                return self.outcome(of: used, opened: opened)
            }
            return .failed(Failure(.replayed), returnTo: opened.returnTo)
        } catch {
            return .failed(Failure(store: error), returnTo: opened.returnTo)
        }
    }

    /// The answer to an attempt that was used before or has expired: 303 while its session lives.
    private func replayOutcome(_ opened: OpenedState, otherwise code: ReasonCode) async -> SignInOutcome {
        do {
            guard let used = try await database.usedAttempt(opened.id, at: clock.now()) else {
                return failed(code, opened)
            }
            return outcome(of: used, opened: opened)
        } catch {
            return .failed(Failure(store: error), returnTo: opened.returnTo)
        }
    }

    func outcome(of used: UsedAttempt, opened: OpenedState) -> SignInOutcome {
        guard used.sessionIsLive, used.bindingHash == opened.attempt.bindingHash else {
            return .failed(Failure(.replayed), returnTo: opened.returnTo)
        }
        return .alreadySignedIn(returnTo: opened.returnTo)
    }
}
