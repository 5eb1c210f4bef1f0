import Coding
import Crypto
import Logging
import Storage

/// What an app sends to sign somebody in: parsed and bounded, not yet trusted.
package struct NativeSignInRequest: Sendable {
    package var identityToken: String
    package var authorizationCode: String
    /// As in the challenge, in whatever form the app passed it to Apple.
    package var nonce: String
    package var givenName: String?
    package var familyName: String?

    package init(
        identityToken: String, authorizationCode: String, nonce: String, givenName: String? = nil,
        familyName: String? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.givenName = givenName
        self.familyName = familyName
    }

    /// Every member.
    var content: RequestContent {
        RequestContent([identityToken, authorizationCode, nonce, givenName, familyName])
    }

    /// Two requests are identical when this is equal.
    var digest: Digest256 { content.digest }
}

/// The result of an app's sign-in.
package enum NativeSignInOutcome: Sendable {
    /// Also for an identical request within the nonce's life: the same session and the same token.
    case signedIn(token: SessionToken, signedIn: SignedIn)
    case refused(SignInRefusal, UserID?)
    /// The answer to an earlier identical request, which used up the code.
    case refusedBefore(SignInRefusal)
    case failed(Failure)
}

// Sign-in from an app on Apple's platforms. What browsers and apps have in common is in CallbackCompletion.
extension SignIn {
    /// A new challenge. Nothing is stored; many may be open at once.
    package func beginNative() -> NativeChallenge {
        let now = clock.now()
        let sealed = SealedChallenge(issuedAt: now, random: random.bytes(SealedChallenge.randomByteCount))
        return NativeChallenge(
            nonce: sealed.seal(with: keyring), expiresAt: now.adding(seconds: configuration.attemptLifetime))
    }

    /// Answers one request of an app. Identical requests in the meantime share its answer.
    package func completeNative(_ request: NativeSignInRequest, device: Device) async -> NativeSignInOutcome {
        let outcome: NativeSignInOutcome
        do throws(Failure) {
            let challenge = try openChallenge(request.nonce)
            outcome = await nativeAnswers.answer(for: request.digest) {
                await self.nativeWork(request, challenge: challenge, device: device)
            }.outcome
        } catch {
            outcome = .failed(error)
        }
        log(outcome)
        metrics.increment(.native, SignInEnd(outcome))
        return outcome
    }

    /// - Throws: `.invalidState` for a challenge that is not ours, `.staleState` for one that is too old.
    func openChallenge(_ nonce: String) throws(Failure) -> SignInAttempt {
        guard let sealed = SealedChallenge.open(nonce, with: keyring) else { throw Failure(.invalidState) }
        guard !isStale(issuedAt: sealed.issuedAt) else { throw Failure(.staleState) }
        return SignInAttempt(
            id: SealedAttempt.identifier(of: SHA256.hash(utf8: nonce), issuedAt: sealed.issuedAt),
            issuedAt: sealed.issuedAt)
    }

    private func nativeWork(
        _ request: NativeSignInRequest, challenge: SignInAttempt, device: Device
    ) async -> NativeSignInOutcome {
        do throws(Failure) {
            // Cheap, and what most retries find: no signature is verified for it.
            if let renewed = try await renewed(request, challenge) { return renewed }
            let callback = ValidatedCallback(
                request, nonceClaim: configuration.nativeNonce.claim(for: request.nonce), clients: provider.bundleIDs,
                name: provider.displayName(given: request.givenName, family: request.familyName))
            let claims = try await verify(callback)
            let consent = consent(of: callback, claims)
            guard try await claimCode(request.digest, challenge, consent: consent) else {
                // Another process had it, and may have finished by now.
                if let renewed = try await renewed(request, challenge) { return renewed }
                throw Failure(.providerUnavailable, "the code is being exchanged, or was when a process ended")
            }
            let identity: VerifiedIdentity
            do throws(Failure) {
                identity = try await exchange(callback, claims)
            } catch {
                throw await settled(challenge.id, after: error)
            }
            var attempt = challenge
            attempt.bindingHash = request.digest
            let token = nativeTokens(request, challenge)[0]
            let result = try await complete(
                identity, attempt: attempt, kind: .native, token: .made(token.hash), device: device)
            switch result {
            case .signedIn(let user, let session, _):
                return .signedIn(token: token, signedIn: SignedIn(session: session, user: user))
            case .alreadyUsed:
                guard let renewed = try await renewed(request, challenge) else { throw Failure(.replayed) }
                return renewed
            case .refused(.revoked, _): throw Failure(.revoked)
            case .refused(let refusal, let user): return .refused(refusal, user)
            }
        } catch {
            return .failed(error)
        }
    }

    /// The result of an earlier identical request; nil when the challenge is unused.
    /// - Throws: `.replayed` when another request used it, or when its session has ended.
    private func renewed(
        _ request: NativeSignInRequest, _ challenge: SignInAttempt
    ) async throws(Failure) -> NativeSignInOutcome? {
        let now = clock.now()
        let used = try await Failure.mapping(await database.usedAttempt(challenge.id, at: now))
        guard let used else { return nil }
        guard constantTimeEquals(used.bindingHash.bytes, request.digest.bytes) else { throw Failure(.replayed) }
        if let refusal = used.refusal { return .refusedBefore(refusal) }
        guard used.sessionIsLive else { throw Failure(.replayed) }
        for token in nativeTokens(request, challenge) {
            let found = try await Failure.mapping(await database.signedIn(token: token.hash, at: now))
            guard let found, found.session.id == used.session else { continue }
            switch found.user.state {
            case .active: return .signedIn(token: token, signedIn: found)
            case .pending: return .refused(.pending, found.user.id)
            case .disabled: return .refused(.disabled, found.user.id)
            }
        }
        // Sealed by a key that is no longer in the ring.
        throw Failure(.replayed)
    }

    /// The token of the session that this request makes, derived from its content, so that a retry gets the token whose
    /// SHA-256 the database holds.
    private func nativeTokens(_ request: NativeSignInRequest, _ challenge: SignInAttempt) -> [SessionToken] {
        request.content.tokens(for: challenge.id, purpose: "native-session", with: keyring)
    }

    private func log(_ outcome: NativeSignInOutcome) {
        switch outcome {
        case .signedIn(_, let signedIn):
            logger.info(
                "signed in",
                metadata: [
                    "user": "\(signedIn.user.id)", "session": "\(signedIn.session.id)",
                    "client": "\(signedIn.session.clientID.rawValue)",
                ])
        case .refused(let refusal, let user): refused(refusal.code, user)
        case .refusedBefore, .failed:
            // The code that answers the app logs this.
            break
        }
    }
}

extension Failure {
    /// Whether Apple has certainly not redeemed the code, so that it may be sent again: it was never sent, or Apple
    /// answered that it did nothing.
    var leavesCodeUnused: Bool {
        !mayHaveSpentCode && [.providerUnavailable, .clientRefused].contains(code)
    }
}
