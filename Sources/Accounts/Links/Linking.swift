package import Coding
import Crypto
import Logging
import Storage

/// What an app brings from Apple for a link: parsed and bounded, not yet trusted. The nonce is the link's.
package struct LinkRequest: Sendable {
    package var identityToken: String
    package var authorizationCode: String
    package var givenName: String?
    package var familyName: String?

    package init(
        identityToken: String, authorizationCode: String, givenName: String? = nil, familyName: String? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.givenName = givenName
        self.familyName = familyName
    }

    func native(_ link: Link) -> NativeSignInRequest {
        NativeSignInRequest(
            identityToken: identityToken, authorizationCode: authorizationCode, nonce: link.nonce,
            givenName: givenName, familyName: familyName)
    }
}

/// A new link, with the secrets that are shown once.
package struct NewLink: Sendable {
    package var id: LinkID
    package var ticket: LinkTicket
    /// For the query of its address: opens the link's page, in one browser.
    package var addressToken: LinkAddressToken
    package var nonce: String
    package var expiresAt: Timestamp
}

/// Links an Apple identity to an account that the application has signed its user in to. The application begins a link,
/// Apple's answer authorizes it, and the application's backend completes it with the code that its own user brought.
package struct Linking: SignInSteps {
    package let parts: SignInParts
    let answers: CallbackAnswers<LinkAnswer>

    package init(_ parts: SignInParts) {
        self.parts = parts
        answers = CallbackAnswers(clock: parts.clock)
    }

    /// Begins a link.
    /// - Parameters:
    ///   - returnTo: nil means the default target.
    ///   - mayReplace: whether the external ID may be taken from another user.
    ///   - waiting: the ticket given to `login.passwordURL`; ignored when it is not ours or too old.
    ///   - apiKey: the only key that may complete the link.
    package func createLink(
        externalID: String, kind: LinkKind, displayName: String, returnTo: String?, mayReplace: Bool,
        waiting: LinkTicket? = nil, apiKey: APIKeyID
    ) async throws(LinkFailure) -> NewLink {
        guard UserLimits.accepts(externalID: externalID) else { throw .invalid("externalID") }
        guard LinkLimits.accepts(displayName: displayName) else { throw .invalid("displayName") }
        guard let target = configuration.returnTargets.validate(returnTo) else { throw .invalid("returnTo") }
        let now = clock.now()
        let id: LinkID = identifiers.make()
        let ticket = LinkTicket.make(random: random)
        let addressToken = LinkAddressToken.make(random: random)
        var identity: WaitingIdentity?
        if let waiting {
            identity = try await LinkFailure.mapping(await database.waiting(ticket: waiting.hash, at: now))
        }
        let link = Link(
            id: id, kind: kind, state: .open, ticketHash: ticket.hash,
            addressHash: addressToken.hash, externalID: externalID, displayName: displayName,
            returnTo: target.location, mayReplace: mayReplace, nonce: makeNonce(), createdAt: now,
            waiting: identity?.id, apiKey: apiKey)
        try await LinkFailure.mapping(await database.createLink(link))
        logger.info("link started", metadata: ["link": "\(id)", "kind": "\(kind.rawValue)"])
        return NewLink(
            id: id, ticket: ticket, addressToken: addressToken, nonce: link.nonce, expiresAt: link.expiresAt)
    }

    /// Opens a link's address: from now on the link belongs to this browser.
    /// - Parameter claims: false for a request that only reads: the link stays free for the next visitor.
    /// - Throws: `.unknown` for a token that is not this link's, `.signIn(.wrongBrowser)` when another browser was
    ///   first.
    package func openLink(
        _ id: LinkID, token: LinkAddressToken, binding: BrowserBinding, claims: Bool = true
    ) async throws(LinkFailure) {
        let link = try await link(id)
        guard let hash = link.addressHash, constantTimeEquals(hash, token.hash) else { throw .unknown }
        if claims {
            try await claim(link, for: binding)
        } else if link.browser != nil {
            try requireOpened(link, in: binding)
        }
    }

    /// The link for its page, while it waits for Apple's answer.
    /// - Throws: `.expired`, `.ended`, or whatever else describes a link that does not wait.
    package func link(_ id: LinkID) async throws(LinkFailure) -> Link {
        let link = try await found(id)
        try checkOpen(link)
        return link
    }

    /// A new attempt for a link's page: Apple's answer to it authorizes the link, in this browser only.
    /// - Parameter isOpened: the caller has proven the link's address but the binding goes to no browser, so the
    ///   attempt opens nothing.
    /// - Throws: `.signIn(.wrongBrowser)` in a browser that has not opened the link's address.
    package func beginLink(
        _ id: LinkID, binding: BrowserBinding, language: String? = nil, isOpened: Bool = false
    ) async throws(LinkFailure) -> Attempt {
        let link = try await link(id)
        if !isOpened { try requireOpened(link, in: binding) }
        return begin(
            binding: binding, returnTo: target(of: link), replacing: nil, language: language, link: link.id)
    }

    /// Authorizes a link from an app. An identical request gets the same code.
    package func authorizeLink(
        _ id: LinkID, ticket: LinkTicket, _ request: LinkRequest, device: Device
    ) async throws(LinkFailure) -> LinkCode {
        let link = try await found(id)
        guard constantTimeEquals(link.ticketHash, ticket.hash) else { throw .unknown }
        let native = request.native(link)
        let answer = await answers.answer(for: joint(link.id, native.digest)) {
            await LinkAnswer.code { () throws(LinkFailure) in
                let after = try await self.authorize(link, native, device: device)
                return try self.code(of: after, native.content)
            }
        }.outcome
        guard case .code(let code) = answer else { throw answer.failure }
        return code
    }

    /// Completes a link with the code that the application's user brought; the backend has verified that it is still
    /// that user. Repeating it with the right code succeeds for as long as Apple opens the account.
    /// - Parameter apiKey: the key that began the link. Another key gets the answer for an unknown link, and no try is
    ///   counted.
    package func completeLink(
        _ id: LinkID, code: String, apiKey: APIKeyID
    ) async throws(LinkFailure) -> User {
        let link = try await found(id)
        guard link.apiKey == nil || link.apiKey == apiKey else { throw .unknown }
        let hash = SHA256.hash(utf8: code)
        let answer = await answers.answer(for: joint(id, hash)) {
            await LinkAnswer.user { () throws(LinkFailure) in try await self.complete(id, code: hash) }
        }.outcome
        guard case .user(let user) = answer else { throw answer.failure }
        return user
    }

    private func complete(_ id: LinkID, code: Digest256) async throws(LinkFailure) -> User {
        let result = try await LinkFailure.mapping(await database.tryCode(code, of: id, at: clock.now()))
        switch result {
        case .unknown: throw .unknown
        case .wrong:
            logger.notice("link completion refused: wrong code", metadata: ["link": "\(id)"])
            throw .codeInvalid
        case .right(let link):
            try await commit(link)
            let account = try await LinkFailure.mapping(await database.linkedAccount(id))
            switch account {
            case .opens(let user)?: return user
            case .closed(let failure)?:
                logger.notice(
                    "link completed, but Apple does not open the account",
                    metadata: ["link": "\(id)", "reason": "\(failure.reason)"])
                throw failure
            case nil: throw .unknown
            }
        }
    }

    /// The id alone opens nothing: it is logged, and appears in the address that the application's page gets.
    func requireOpened(_ link: Link, in browser: BrowserBinding) throws(LinkFailure) {
        guard let first = link.browser, constantTimeEquals(first, browser.hash) else {
            throw .signIn(.wrongBrowser)
        }
    }

    /// A link belongs to the browser that opens it first. Otherwise somebody who got hold of its address could put
    /// their own Apple Account into it and have the application's user bring the code.
    private func claim(_ link: Link, for browser: BrowserBinding) async throws(LinkFailure) {
        if let first = link.browser {
            // The same browser opens it again: nothing is written.
            if constantTimeEquals(first, browser.hash) { return }
        } else {
            let isOurs = try await LinkFailure.mapping(
                await database.claimLink(link.id, for: browser.hash))
            if isOurs { return }
        }
        // Authorized a moment ago, or another browser's.
        try checkOpen(try await found(link.id))
        throw .signIn(.wrongBrowser)
    }

    // MARK: Authorizing

    /// Authorizes with what an app brought, unless this very request did before.
    func authorize(
        _ link: Link, _ request: NativeSignInRequest, device: Device
    ) async throws(LinkFailure) -> Link {
        // Read it again: an identical request may have ended since the caller read the link.
        guard let link = try await LinkFailure.mapping(await database.link(link.id)) else { throw .unknown }
        if let before = try authorized(link, by: request.digest) { return before }
        let callback = ValidatedCallback(
            request, nonceClaim: configuration.nativeNonce.claim(for: link.nonce), clients: provider.bundleIDs,
            name: provider.displayName(given: request.givenName, family: request.familyName))
        let attempt = SignInAttempt(
            id: SealedAttempt.identifier(of: joint(link.id, request.digest), issuedAt: link.createdAt),
            issuedAt: link.createdAt, bindingHash: request.digest)
        return try await authorize(
            link, callback, content: request.content, attempt: attempt, kind: .native, device: device, kept: nil)
    }

    /// - Parameter kept: a name the browser kept, valid only for this person.
    func authorize(
        _ link: Link, _ callback: consuming ValidatedCallback, content: RequestContent, attempt: SignInAttempt,
        kind: SessionKind, device: Device, kept: String?
    ) async throws(LinkFailure) -> Link {
        let claims: IdentityClaims
        let identity: VerifiedIdentity
        let name: PersonName?
        do throws(SignInFailure) {
            claims = try await verify(callback)
            name = callback.name ?? self.name(keptAs: kept, for: claims.subject)
            let consent = consent(of: callback, claims, kept: name)
            guard try await claimCode(content.digest, attempt, consent: consent) else {
                throw .providerUnavailable("the code is being exchanged, or was when a process ended")
            }
            do throws(SignInFailure) {
                identity = try await exchange(callback, claims)
            } catch {
                throw await settled(attempt.id, after: error)
            }
        } catch {
            throw .signIn(error)
        }
        let linked = LinkedIdentity(identity: identity, name: name, attempt: attempt, kind: kind, device: device)
        return try await authorize(link, linked, content: content, waiting: nil)
    }

    func authorize(
        _ link: Link, _ identity: LinkedIdentity, content: RequestContent, waiting: WaitingID?
    ) async throws(LinkFailure) -> Link {
        let request = content.digest
        let authorization = LinkAuthorization(
            id: link.id, request: request, codeHash: codes(of: link.id, content)[0].hash,
            sealedIdentity: identity.seal(for: link.id, with: keyring), team: provider.team,
            subject: identity.identity.claims.subject, waiting: waiting, now: clock.now())
        let after = try await LinkFailure.mapping(await database.authorizeLink(authorization))
        guard let after else { throw .unknown }
        guard let ours = try authorized(after, by: request) else { throw .expired }
        if after.endedAt == nil {
            logger.info("link authorized", metadata: ["link": "\(link.id)", "kind": "\(link.kind.rawValue)"])
        }
        return ours
    }

    /// The link when this very request authorized it before; nil while it waits.
    func authorized(_ link: Link, by request: Digest256) throws(LinkFailure) -> Link? {
        switch link.state {
        case .failed: throw LinkFailure(stored: link.failure)
        case .open:
            try checkOpen(link)
            return nil
        case .authorized, .done:
            guard let first = link.request, constantTimeEquals(first, request) else { throw .signIn(.replayed) }
            if link.state == .authorized, link.isOver(at: clock.now()) { throw .expired }
            return link
        }
    }

    func checkOpen(_ link: Link) throws(LinkFailure) {
        switch link.state {
        case .failed: throw LinkFailure(stored: link.failure)
        case .done: throw .ended
        case .open, .authorized:
            if link.isOver(at: clock.now()) { throw .expired }
            if link.state == .authorized { throw .ended }
        }
    }

    // MARK: Codes and look-ups

    /// The code that completes the link: derived, so that an identical request gets it again, even after a restart.
    func code(of link: Link, _ content: RequestContent) throws(LinkFailure) -> LinkCode {
        guard let hash = link.codeHash, let code = codes(of: link.id, content).first(where: { $0.hash == hash })
        else { throw .ended }
        return code
    }

    private func codes(of id: LinkID, _ content: RequestContent) -> [LinkCode] {
        content.tokens(for: SHA256.hash(utf8: id.rawValue), purpose: "link-code", with: keyring)
    }

    /// `returnTo?link=…&code=…`, keeping its own query and fragment.
    func location(of link: Link, _ content: RequestContent) throws(LinkFailure) -> String {
        AddressQuery.append(
            "link=\(link.id)&code=\(try code(of: link, content).reveal())", to: target(of: link).location)
    }

    func target(of link: Link) -> ReturnTarget {
        configuration.returnTargets.validate(link.returnTo) ?? configuration.returnTargets.defaultTarget
    }

    /// The answer must not depend on who asks: the id is public.
    func found(_ id: LinkID) async throws(LinkFailure) -> Link {
        guard let link = try await LinkFailure.mapping(await database.link(id)) else { throw .unknown }
        return link
    }

    /// A link and a request in one digest.
    func joint(_ id: LinkID, _ request: Digest256) -> Digest256 {
        SHA256.hash(Array("\(id)|".utf8) + request.bytes)
    }

    /// 256 random bits in base64url.
    func makeNonce() -> String { Base64URL.encode(random.bytes(32)) }
}

/// What identical requests about one link share while the first is running. Nothing is kept: the store knows the
/// result.
enum LinkAnswer: SharedAnswer {
    case code(LinkCode)
    case user(User)
    case failed(LinkFailure)

    var isKept: Bool { false }

    /// The failure of an answer that is not the expected one.
    var failure: LinkFailure {
        if case .failed(let failure) = self { failure } else { .ended }
    }

    static func code(_ work: () async throws(LinkFailure) -> LinkCode) async -> LinkAnswer {
        do throws(LinkFailure) { return .code(try await work()) } catch { return .failed(error) }
    }

    static func user(_ work: () async throws(LinkFailure) -> User) async -> LinkAnswer {
        do throws(LinkFailure) { return .user(try await work()) } catch { return .failed(error) }
    }
}
