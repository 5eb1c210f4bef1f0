package import Coding
import Crypto
import Logging
import Storage

/// A new link, with the secrets that are shown once.
package struct NewLink: Sendable {
    package var id: LinkID
    package var ticket: LinkTicket
    /// For the query of its address: opens the link's page, in one browser.
    package var addressToken: LinkAddressToken
    package var nonce: String
    package var expiresAt: Timestamp
}

// Links an Apple identity to an account that the application has signed its user in to. The application begins a link,
// Apple's answer authorizes it, and the application's backend completes it with the code that its own user brought.
extension SignIn {
    /// Begins a link, which only `key` may complete; its scopes say whether the external ID may be taken from another
    /// user. `returnTo` nil means the default target; a `waiting` ticket that is not ours or too old is ignored.
    package func createLink(
        externalID: String, kind: LinkKind, displayName: String, returnTo: String?, waiting: LinkTicket? = nil,
        by key: APIKey
    ) async throws(Failure) -> NewLink {
        guard UserLimits.accepts(externalID: externalID) else {
            throw Self.invalid("externalID", UserLimits.externalID)
        }
        guard PlainLine.accepts(displayName, maximum: Link.displayNameLimit) else {
            throw Self.invalid("displayName", Link.displayNameLimit)
        }
        guard let target = returnTargets.validate(returnTo) else {
            throw Failure(
                .invalidRequest,
                "returnTo is a path of publicURL, or an absolute URL on its origin or one of login.allowedReturnOrigins"
            )
        }
        let now = clock.now()
        let id: LinkID = identifiers.make()
        let ticket = LinkTicket.make(random: random)
        let addressToken = LinkAddressToken.make(random: random)
        var identity: WaitingIdentity?
        if let waiting { identity = try await database.waiting(ticket: waiting.hash, at: now) }
        let link = Link(
            id: id, kind: kind, state: .open, ticketHash: ticket.hash,
            addressHash: addressToken.hash, externalID: externalID, displayName: displayName,
            returnTo: target.location, mayReplace: key.scopes.contains(.linksReplace),
            nonce: Base64URL.encode(random.bytes(32)), createdAt: now, expiresAt: now.adding(seconds: Link.lifetime),
            waiting: identity?.id, apiKey: key.id)
        try await database.createLink(link)
        logger.info("link started", metadata: ["link": "\(id)", "kind": "\(kind.rawValue)"])
        return NewLink(id: id, ticket: ticket, addressToken: addressToken, nonce: link.nonce, expiresAt: link.expiresAt)
    }

    private static func invalid(_ member: String, _ size: Int) -> Failure {
        Failure(.invalidRequest, "\(member) is 1 to \(size) bytes of text without control characters")
    }

    /// Opens a link's address: the link then belongs to this browser, unless a request only reads (not `claims`).
    /// - Throws: `.linkUnknown` for a token that is not this link's, `.wrongBrowser` when another browser was first.
    package func openLink(
        _ id: LinkID, token: LinkAddressToken, binding: BrowserBinding, claims: Bool = true
    ) async throws(Failure) {
        let link = try await link(id)
        guard let hash = link.addressHash, constantTimeEquals(hash, token.hash) else { throw Failure(.linkUnknown) }
        if claims {
            try await claim(link, for: binding)
        } else if link.browser != nil {
            try requireOpened(link, in: binding)
        }
    }

    /// The link for its page, while it waits for Apple's answer; otherwise throws why it ended.
    package func link(_ id: LinkID) async throws(Failure) -> Link {
        let link = try await found(id)
        try checkOpen(link)
        return link
    }

    /// A new attempt for a link's page: Apple's answer to it authorizes the link, in this browser only.
    /// - Parameter isOpened: the caller has proven the link's address, and the binding goes to no browser, so the attempt
    ///   is useless.
    /// - Throws: `.wrongBrowser` in a browser that has not opened the link's address.
    package func beginLink(
        _ id: LinkID, binding: BrowserBinding, language: String? = nil, isOpened: Bool = false
    ) async throws(Failure) -> Attempt {
        let link = try await link(id)
        if !isOpened { try requireOpened(link, in: binding) }
        return begin(binding: binding, returnTo: target(of: link), replacing: nil, language: language, link: link.id)
    }

    /// Authorizes a link from an app, with the link's nonce. An identical request gets the same code.
    package func authorizeLink(
        _ id: LinkID, ticket: LinkTicket, _ request: NativeSignInRequest, device: Device
    ) async throws(Failure) -> LinkCode {
        let link = try await found(id)
        guard constantTimeEquals(link.ticketHash, ticket.hash) else { throw Failure(.linkUnknown) }
        var native = request
        native.nonce = link.nonce
        return try await linkAuthorizations.answer(for: joint(link.id, native.digest)) { [native] in
            await Result { () async throws(Failure) in
                let after = try await self.authorize(link, native, device: device)
                return try self.code(of: after, native.content)
            }
        }.outcome.get()
    }

    /// Completes a link with the code that its user brought, as the backend has verified; repeatable while Apple opens
    /// the account. A key that did not begin the link gets the answer for an unknown one, and no try is counted.
    package func completeLink(_ id: LinkID, code: String, apiKey: APIKeyID) async throws(Failure) -> User {
        let link = try await found(id)
        guard link.apiKey == nil || link.apiKey == apiKey else { throw Failure(.linkUnknown) }
        let hash = SHA256.hash(utf8: code)
        return try await linkCompletions.answer(for: joint(id, hash)) {
            await Result { () async throws(Failure) in try await self.complete(id, code: hash) }
        }.outcome.get()
    }

    private func complete(_ id: LinkID, code: Digest256) async throws(Failure) -> User {
        let found = try await database.tryCode(code, of: id, at: clock.now())
        guard let (link, isRight) = found else { throw Failure(.linkUnknown) }
        guard isRight else {
            logger.notice("link completion refused: wrong code", metadata: ["link": "\(id)"])
            throw Failure(.codeInvalid)
        }
        try await commit(link)
        guard let account = try await database.linkedAccount(id) else { throw Failure(.linkUnknown) }
        if let obstacle = account.obstacle {
            logger.notice(
                "link completed, but its account cannot sign in",
                metadata: ["link": "\(id)", "reason": "\(obstacle.rawValue)"])
            throw Failure(obstacle)
        }
        return account.user
    }

    /// The id is not a secret: it is logged, and appears in the address that the application's page gets.
    func requireOpened(_ link: Link, in browser: BrowserBinding) throws(Failure) {
        guard let first = link.browser, constantTimeEquals(first, browser.hash) else { throw Failure(.wrongBrowser) }
    }

    /// A link belongs to the browser that opens it first. Otherwise someone who obtained its address could put their own
    /// Apple Account into it and have the application's user bring the code.
    private func claim(_ link: Link, for browser: BrowserBinding) async throws(Failure) {
        if let first = link.browser {
            // The same browser opens it again: nothing is written.
            if constantTimeEquals(first, browser.hash) { return }
        } else {
            if try await database.claimLink(link.id, for: browser.hash) { return }
        }
        // Authorized a moment ago, or another browser's.
        try checkOpen(try await found(link.id))
        throw Failure(.wrongBrowser)
    }

    /// Authorizes with an app's request, unless the same request did before.
    func authorize(_ link: Link, _ request: NativeSignInRequest, device: Device) async throws(Failure) -> Link {
        // Read it again: an identical request may have ended since the caller read the link.
        guard let link = try await database.link(link.id) else { throw Failure(.linkUnknown) }
        if let before = try authorized(link, by: request.digest) { return before }
        let callback = validated(request, nonce: link.nonce)
        let attempt = SignInAttempt(
            id: SealedAttempt.identifier(of: joint(link.id, request.digest), issuedAt: link.createdAt),
            issuedAt: link.createdAt, bindingHash: request.digest)
        return try await authorize(
            link, callback, content: request.content, attempt: attempt, device: device, kept: nil)
    }

    /// - Parameter kept: a name the browser kept, valid only for this person.
    func authorize(
        _ link: Link, _ callback: consuming ValidatedCallback, content: RequestContent, attempt: SignInAttempt,
        device: Device, kept: String?
    ) async throws(Failure) -> Link {
        let kind = callback.kind
        let claims = try await verify(callback)
        let name = callback.name ?? self.name(keptAs: kept, for: claims.subject)
        let consent = consent(of: callback, claims, kept: name)
        try await requireCode(content.digest, attempt, consent: consent)
        let identity = try await exchange(callback, claims, claimed: attempt)
        let linked = LinkedIdentity(identity: identity, name: name, attempt: attempt, kind: kind, device: device)
        return try await authorize(link, linked, content: content, waiting: nil)
    }

    func authorize(
        _ link: Link, _ identity: LinkedIdentity, content: RequestContent, waiting: WaitingID?
    ) async throws(Failure) -> Link {
        var wanted = link
        wanted.request = content.digest
        wanted.codeHash = codes(of: link.id, content)[0].hash
        wanted.sealedIdentity = identity.seal(for: link.id, with: keyring)
        wanted.team = provider.team
        wanted.subject = identity.identity.claims.subject
        let after = try await database.authorizeLink(wanted, waiting: waiting, at: clock.now())
        guard let after else { throw Failure(.linkUnknown) }
        guard let ours = try authorized(after, by: content.digest) else { throw Failure(.linkExpired) }
        if after.endedAt == nil {
            logger.info("link authorized", metadata: ["link": "\(link.id)", "kind": "\(link.kind.rawValue)"])
        }
        return ours
    }

    /// The link, if this same request authorized it before; nil while it waits.
    func authorized(_ link: Link, by request: Digest256) throws(Failure) -> Link? {
        switch link.state {
        case .failed: throw Failure(ofLink: link.failure)
        case .open:
            try checkOpen(link)
            return nil
        case .authorized, .done:
            guard let first = link.request, constantTimeEquals(first, request) else { throw Failure(.replayed) }
            if link.state == .authorized, link.isOver(at: clock.now()) { throw Failure(.linkExpired) }
            return link
        }
    }

    func checkOpen(_ link: Link) throws(Failure) {
        switch link.state {
        case .failed: throw Failure(ofLink: link.failure)
        case .done: throw Failure(.linkEnded)
        case .open, .authorized:
            if link.isOver(at: clock.now()) { throw Failure(.linkExpired) }
            if link.state == .authorized { throw Failure(.linkEnded) }
        }
    }

    /// The code that completes the link: derived, so that an identical request gets it again, even after a restart.
    func code(of link: Link, _ content: RequestContent) throws(Failure) -> LinkCode {
        guard let hash = link.codeHash, let code = codes(of: link.id, content).first(where: { $0.hash == hash })
        else { throw Failure(.linkEnded) }
        return code
    }

    private func codes(of id: LinkID, _ content: RequestContent) -> [LinkCode] {
        content.tokens(for: SHA256.hash(utf8: id.rawValue), purpose: "link-code", with: keyring)
    }

    /// `returnTo?link=…&code=…`, keeping its own query and fragment.
    func location(of link: Link, _ content: RequestContent) throws(Failure) -> String {
        AddressQuery.append(
            "link=\(link.id)&code=\(try code(of: link, content).reveal())", to: target(of: link).location)
    }

    func target(of link: Link) -> ReturnTarget { returnTargets.validate(link.returnTo) ?? returnTargets.defaultTarget }

    /// Independent of the caller: the id is public.
    func found(_ id: LinkID) async throws(Failure) -> Link {
        guard let link = try await database.link(id) else { throw Failure(.linkUnknown) }
        return link
    }

    /// A link and a request in one digest.
    func joint(_ id: LinkID, _ request: Digest256) -> Digest256 { SHA256.hash(Array("\(id)|".utf8) + request.bytes) }
}
