package import Coding
import Crypto
import Logging

/// An upgrade, as told to whoever proved the password.
package struct UpgradeStart: Sendable {
    package var id: UpgradeID
    package var token: UpgradeToken
    package var nonce: String
    package var expiresAt: Timestamp

    package init(id: UpgradeID, token: UpgradeToken, nonce: String, expiresAt: Timestamp) {
        self.id = id
        self.token = token
        self.nonce = nonce
        self.expiresAt = expiresAt
    }
}

package enum UpgradeAnswer: Sendable {
    /// Continue at Apple.
    case success(UpgradeStart)
    /// `methods` as the application names them.
    case twoFactorAuthRequired(UpgradeStart, methods: [String])
    /// The verifier refused, without a reason.
    case failure
}

// Replaces the password of an account that the application's verifier knows.
extension Linking {
    /// Whether a verifier is configured.
    package var offersUpgrades: Bool { passwords != nil }

    /// Asks the verifier which account a password belongs to. Existing and unknown accounts are treated alike.
    package func startUpgrade(username: String, password: Password) async throws(LinkFailure) -> UpgradeAnswer {
        guard let passwords else { throw .notConfigured }
        guard LinkLimits.accepts(username: username) else { throw .invalid("username") }
        guard (1...LinkLimits.password).contains(password.bytes.count) else { throw .invalid("password") }
        let name = passwords.limit.key(of: username)
        let answer = try await passwords.ask(about: name, at: clock.now()) { () throws(VerifierFailure) in
            try await passwords.verifier.verify(username: username, password: password)
        }
        switch answer {
        case .failure:
            // Do not log the name: it may be somebody's.
            logger.info("upgrade refused: wrong password")
            return .failure
        case .success(let externalID):
            guard UserLimits.accepts(externalID: externalID) else {
                throw .verifierUnavailable("success without a usable externalID")
            }
            return .success(try await insert(externalID: externalID, challenge: nil, methods: []))
        case .twoFactorAuthRequired(let challenge, let methods):
            guard PlainLine.accepts(challenge, maximum: LinkLimits.challenge) else {
                throw .verifierUnavailable("a challenge that is empty or too long")
            }
            let start = try await insert(
                externalID: nil, challenge: Challenge(text: challenge, name: name), methods: methods)
            return .twoFactorAuthRequired(start, methods: methods)
        }
    }

    /// Asks the verifier about the second factor. After a success, repeats the answer while Apple has not answered.
    package func secondFactor(
        _ id: UpgradeID, token: UpgradeToken, code: String
    ) async throws(LinkFailure) -> UpgradeAnswer {
        guard let passwords else { throw .notConfigured }
        let link = try await found(id, token: token)
        guard PlainLine.accepts(code, maximum: LinkLimits.secondFactorCode) else { throw .invalid("code") }
        let start = UpgradeStart(id: id, token: token, nonce: link.nonce, expiresAt: link.expiresAt)
        guard link.state == .challenged else {
            try checkOpen(link)
            return .success(start)
        }
        let now = clock.now()
        if link.isOver(at: now) { throw .expired }
        let counted = try await LinkFailure.mapping(await links.consumeSecondFactorTry(link.key, at: now))
        guard counted != nil, let challenge = open(challengeOf: link) else { throw .upgradeEnded }
        let answer: VerifierAnswer
        do throws(LinkFailure) {
            answer = try await passwords.ask(about: challenge.name, at: clock.now()) { () throws(VerifierFailure) in
                try await passwords.verifier.secondFactor(challenge: challenge.text, code: code)
            }
        } catch {
            // Nobody has said that the code was wrong.
            try await LinkFailure.mapping(await links.restoreSecondFactorTry(link.key))
            throw error
        }
        switch answer {
        case .failure:
            logger.info("upgrade refused: wrong code", metadata: ["link": "\(link.key)"])
            return .failure
        case .success(let externalID):
            guard UserLimits.accepts(externalID: externalID) else {
                throw .verifierUnavailable("success without a usable externalID")
            }
            let after = clock.now()
            let isOpen = try await LinkFailure.mapping(
                await links.passSecondFactor(link.key, externalID: externalID, at: after))
            // An identical request was first, or the last try ended it in the meantime.
            if !isOpen { try checkOpen(try await found(link.key)) }
            return .success(start)
        case .twoFactorAuthRequired(let next, let methods):
            guard PlainLine.accepts(next, maximum: LinkLimits.challenge) else {
                throw .verifierUnavailable("a challenge that is empty or too long")
            }
            let sealed = seal(Challenge(text: next, name: challenge.name), of: link.key)
            let isRenewed = try await LinkFailure.mapping(
                await links.renewChallenge(link.key, sealedChallenge: sealed, methods: methods))
            guard isRenewed else { throw .upgradeEnded }
            return .twoFactorAuthRequired(start, methods: methods)
        }
    }

    /// What a page shows of an upgrade in progress: the second factor's methods, or that Apple is next.
    package func upgrade(_ id: UpgradeID, token: UpgradeToken) async throws(LinkFailure) -> Link {
        let link = try await found(id, token: token)
        if link.state != .challenged { try checkOpen(link) }
        if link.isOver(at: clock.now()) { throw .expired }
        return link
    }

    /// A new attempt for an upgrade's page: Apple's answer to it completes the upgrade, in this browser only.
    /// - Parameter replacing: the browser's present session, which ends when this attempt completes.
    package func beginUpgrade(
        _ id: UpgradeID, token: UpgradeToken, binding: BrowserBinding, returnTo: ReturnTarget,
        replacing: SessionID?, language: String? = nil
    ) async throws(LinkFailure) -> Attempt {
        let link = try await found(id, token: token)
        try checkOpen(link)
        if link.browser != binding.hash {
            let isOurs = try await LinkFailure.mapping(
                await links.claimLink(link.key, for: binding.hash, takesOver: true))
            // Authorized a moment ago.
            if !isOurs { try checkOpen(try await found(link.key)) }
        }
        return begin(
            binding: binding, returnTo: returnTo, replacing: replacing, language: language, link: link.key)
    }

    /// Completes an upgrade from an app. An identical request gets the same session with the same token.
    package func completeUpgrade(
        _ id: UpgradeID, token: UpgradeToken, _ request: LinkRequest, device: Device
    ) async throws(LinkFailure) -> (SessionToken, SignedIn) {
        let link = try await found(id, token: token)
        let native = request.native(link)
        let answer = await answers.answer(for: joint(link.key, native.digest)) {
            await LinkAnswer.session { () throws(LinkFailure) in
                let authorized = try await self.authorize(link, native, device: device)
                let done = try await self.settle(try await self.commit(authorized))
                return try await self.session(of: done, native.content)
            }
        }.outcome
        guard case .session(let session, let signedIn) = answer else { throw answer.failure }
        return (session, signedIn)
    }

    // MARK: Steps

    private func insert(
        externalID: String?, challenge: Challenge?, methods: [String]
    ) async throws(LinkFailure) -> UpgradeStart {
        let id: UpgradeID = identifiers.make()
        let token = UpgradeToken.make(random: random)
        let key = LinkKey(id)
        let link = Link(
            key: key, style: .password, kind: .upgrade, state: challenge == nil ? .open : .challenged,
            tokenHash: token.hash, externalID: externalID, nonce: makeNonce(), createdAt: clock.now(),
            sealedChallenge: challenge.map { seal($0, of: key) },
            methods: Array(methods.prefix(LinkLimits.methods)))
        try await LinkFailure.mapping(await links.createLink(link))
        logger.info("upgrade started", metadata: ["link": "\(id)"])
        return UpgradeStart(id: id, token: token, nonce: link.nonce, expiresAt: link.expiresAt)
    }

    /// What the verifier wants back with the code, and the name for which its tries count.
    private struct Challenge {
        var text: String
        var name: Digest256
    }

    private func seal(_ challenge: Challenge, of key: LinkKey) -> [UInt8] {
        keyring.seal(
            challenge.name.bytes + Array(challenge.text.utf8), purpose: Self.challengePurpose,
            context: Array(key.rawValue.utf8))
    }

    private func open(challengeOf link: Link) -> Challenge? {
        guard let sealed = link.sealedChallenge,
            let bytes = try? keyring.open(
                sealed, purpose: Self.challengePurpose, context: Array(link.key.rawValue.utf8)),
            let name = Digest256(bytes: Array(bytes.prefix(Digest256.size))),
            let text = String(validating: bytes.dropFirst(Digest256.size), as: UTF8.self)
        else { return nil }
        return Challenge(text: text, name: name)
    }

    private static var challengePurpose: SealingPurpose { .other("verifier-challenge") }
}

extension Linking.Passwords {
    /// Asks the verifier, counting a try for the name first. A wrong password or code uses it up; nothing else does,
    /// and a missing answer tells nobody anything.
    func ask(
        about name: Digest256, at now: Timestamp, _ question: () async throws(VerifierFailure) -> VerifierAnswer
    ) async throws(LinkFailure) -> VerifierAnswer {
        let moment = try await limit.consume(name, at: now)
        let answer: VerifierAnswer
        do throws(VerifierFailure) {
            answer = try await question()
        } catch {
            try await limit.restore(name, of: moment)
            throw .verifierUnavailable(error.detail)
        }
        if case .failure = answer { return answer }
        try await limit.restore(name, of: moment)
        return answer
    }
}
