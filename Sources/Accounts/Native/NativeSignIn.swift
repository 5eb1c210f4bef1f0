package import Coding
import Crypto
import Logging
import Storage

/// An app's request to sign somebody in, or for a link: parsed and bounded, not yet trusted.
package struct NativeSignInRequest: Sendable {
    package var identityToken: String
    package var authorizationCode: String
    /// As in the challenge; for a link, the link's own replaces it.
    package var nonce: String
    package var givenName: String?
    package var familyName: String?

    package init(
        identityToken: String, authorizationCode: String, nonce: String = "", givenName: String? = nil,
        familyName: String? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.givenName = givenName
        self.familyName = familyName
    }

    var content: RequestContent { RequestContent([identityToken, authorizationCode, nonce, givenName, familyName]) }

    /// Two requests are identical when this is equal.
    var digest: Digest256 { content.digest }
}

package enum NativeSignInOutcome: Sendable {
    /// Also for an identical request within the nonce's life: the same session and the same token.
    case signedIn(token: SessionToken, signedIn: SignedIn)
    case refused(SignInRefusal, UserID?)
    /// The answer to an earlier identical request, which used up the code.
    case refusedBefore(SignInRefusal)
    case failed(Failure)
}

// Sign-in from an app on Apple's platforms. AppleAnswer has the steps that browsers and apps share.
extension SignIn {
    /// A new challenge: a nonce that an app gets before Apple's sheet, and returns with Apple's answer. It seals its time
    /// and 128 random bits, under the key of the hour of issue. Nothing is stored; many may be open at once.
    package func beginNative() -> (nonce: String, expiresAt: Timestamp) {
        let now = clock.now()
        let plaintext =
            [Self.challengeVersion] + [UInt8](bigEndian: now.milliseconds) + random.bytes(Self.challengeRandomCount)
        return (
            keyring.sealText(plaintext, issuedAt: now, purpose: SealingPurpose.nativeChallenge),
            now.adding(seconds: configuration.attemptLifetime)
        )
    }

    private static var challengeVersion: UInt8 { 1 }
    private static var challengeRandomCount: Int { 16 }
    /// The longest nonce that is opened, in characters; ours have 83.
    private static var maximumNonceLength: Int { 128 }

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
        let plaintext = keyring.openText(
            nonce, maximumLength: Self.maximumNonceLength, purpose: SealingPurpose.nativeChallenge)
        guard let plaintext, plaintext.count == 9 + Self.challengeRandomCount, plaintext[0] == Self.challengeVersion
        else { throw Failure(.invalidState) }
        let issuedAt = Timestamp(milliseconds: Int64(bigEndianBytes: plaintext[1..<9]))
        guard !isStale(issuedAt: issuedAt) else { throw Failure(.staleState) }
        return SignInAttempt(
            id: SealedAttempt.identifier(of: SHA256.hash(utf8: nonce), issuedAt: issuedAt), issuedAt: issuedAt)
    }

    /// - Parameter nonce: of an open challenge or link.
    func validated(_ request: NativeSignInRequest, nonce: String) -> ValidatedCallback {
        ValidatedCallback(
            code: request.authorizationCode, identityToken: request.identityToken, kind: .native,
            name: provider.displayName(given: request.givenName, family: request.familyName),
            nonce: configuration.nativeClaim(for: nonce), clients: provider.bundleIDs)
    }

    private func nativeWork(
        _ request: NativeSignInRequest, challenge: SignInAttempt, device: Device
    ) async -> NativeSignInOutcome {
        do throws(Failure) {
            // Cheap, and enough for most retries: verifies no signature.
            if let renewed = try await renewed(request, challenge) { return renewed }
            let callback = validated(request, nonce: request.nonce)
            let claims = try await verify(callback)
            let consent = consent(of: callback, claims)
            guard try await claimCode(request.digest, challenge, consent: consent) else {
                // Another process claimed it, and may have finished by now.
                if let renewed = try await renewed(request, challenge) { return renewed }
                throw Self.codeInFlight
            }
            let identity = try await exchange(callback, claims, claimed: challenge)
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
            case .refused(let refusal, let user): return .refused(refusal, user)
            }
        } catch {
            return .failed(error.inSignIn)
        }
    }

    /// The result of an earlier identical request; nil when unused, `.replayed` after another or an ended session.
    private func renewed(
        _ request: NativeSignInRequest, _ challenge: SignInAttempt
    ) async throws(Failure) -> NativeSignInOutcome? {
        let now = clock.now()
        guard let used = try await database.usedAttempt(challenge.id, at: now) else { return nil }
        guard constantTimeEquals(used.bindingHash.bytes, request.digest.bytes) else { throw Failure(.replayed) }
        if let refusal = used.refusal { return .refusedBefore(refusal) }
        guard used.sessionIsLive else { throw Failure(.replayed) }
        for token in nativeTokens(request, challenge) {
            let found = try await database.signedIn(token: token.hash, at: now)
            guard let found, found.session.id == used.session else { continue }
            return found.user.state.refusal.map { .refused($0, found.user.id) }
                ?? .signedIn(token: token, signedIn: found)
        }
        // Sealed by a key that is no longer in the ring.
        throw Failure(.replayed)
    }

    /// Derived from the request's content, so that a retry gets the token whose SHA-256 the database has.
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
        // Logged where the app is answered.
        case .refusedBefore, .failed: break
        }
    }
}

extension Failure {
    /// Whether Apple has certainly not redeemed the code, so that it may be sent again.
    var leavesCodeUnused: Bool { !mayHaveSpentCode && [.providerUnavailable, .clientRefused].contains(code) }
}

/// Apple's fresh answer to an app, sent to delete an account that may have no refresh token stored.
package struct FreshAuthorization: Sendable {
    package var authorizationCode: String
    /// Verified as at a sign-in, if given; then `nonce` is required.
    package var identityToken: String?
    /// Of a challenge of ours; if given, Apple's token must match it.
    package var nonce: String?

    package init(authorizationCode: String, identityToken: String? = nil, nonce: String? = nil) {
        self.authorizationCode = authorizationCode
        self.identityToken = identityToken
        self.nonce = nonce
    }
}

extension SignIn {
    /// Redeems a fresh code of the app that this person is signed in with, and stores the refresh token, so that the
    /// following deletion can revoke it (Apple, TN3194). This also proves that the person was present. The code must belong
    /// to the same person and app; it is sent once.
    package func redeem(_ fresh: FreshAuthorization, of signedIn: SignedIn) async throws(Failure) {
        let (session, user) = (signedIn.session, signedIn.user)
        guard session.kind == .native, provider.bundleIDs.contains(session.clientID) else {
            throw Failure(.malformedCallback, "authorizationCode is accepted only from an app that is signed in")
        }
        var nonce: String?
        if let text = fresh.nonce {
            _ = try openChallenge(text)
            nonce = configuration.nativeClaim(for: text)
        }
        if let token = fresh.identityToken {
            guard let nonce else { throw Failure(.malformedCallback, "identityToken needs a nonce") }
            let claims = try await provider.verify(
                identityToken: token, authorizationCode: fresh.authorizationCode, nonce: nonce,
                clientIDs: [session.clientID])
            guard claims.subject == user.appleSubject else {
                throw Failure(.tokenMismatch, "the token is another person's")
            }
        }
        let attempt = SignInAttempt(id: SHA256.hash(utf8: "deletion|" + fresh.authorizationCode), issuedAt: clock.now())
        let request = SHA256.hash(utf8: "\(session.id)|\(fresh.authorizationCode)")
        try await requireCode(request, attempt, consent: nil)
        let identity: VerifiedIdentity
        do throws(Failure) {
            identity = try await provider.redeem(
                authorizationCode: fresh.authorizationCode, nonce: nonce, clientID: session.clientID)
        } catch {
            throw await settled(attempt.id, after: error)
        }
        guard identity.claims.subject == user.appleSubject, identity.claims.clientID == session.clientID else {
            throw Failure(.tokenMismatch, "the code is another person's")
        }
        guard let sealed = seal(identity.refreshToken, claims: identity.claims) else { return }
        try await database.keepCredential(sealed, of: identity.claims, team: provider.team)
    }
}
