import Coding
import Crypto

/// One post to the callback: its form is parsed once, and its state opened once. Only `SignIn.receive` makes one.
package struct ReceivedCallback: Sendable {
    let form: Result<CallbackForm, Failure>
    /// Nil when the state is not ours.
    let opened: SealedAttempt?
    /// Whether its state was too old when it arrived.
    let isStale: Bool
    /// What the browser's cookies say.
    package let binding: BindingCookie

    /// Where the sign-in leads; nil when the state is not ours.
    package var returnTo: ReturnTarget? { opened?.returnTo }
    /// Where it leads when cancelled.
    package var errorReturn: ReturnTarget? { opened?.errorReturn }
    /// The language chosen where the attempt began; nil when none was chosen, or the state is not ours. Only for a
    /// page's texts: nothing else about the callback has been checked.
    package var language: String? { opened?.language }
    /// The link that Apple's answer is for, instead of a sign-in.
    package var link: LinkID? { opened?.link }

    /// The person's name; nil when it is not in the form.
    var name: PersonName? {
        guard let name = try? form.get().name, !name.isEmpty else { return nil }
        return name
    }

    /// Whether this browser began the attempt.
    var isOfItsBrowser: Bool {
        guard case .value(let value) = binding, let opened else { return false }
        return constantTimeEquals(value.hash.bytes, opened.used.bindingHash.bytes)
    }

    /// The form and its state.
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

/// Apple's answer to an attempt of ours, from the right browser or from an app: may be taken to Apple, once.
struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let kind: SessionKind
    let name: PersonName?
    /// As Apple's token must repeat it.
    let nonce: String
    /// The accepted audiences of the token.
    let clients: [ClientID]

    init(form: CallbackForm, opened: SealedAttempt, servicesID: ClientID) throws(Failure) {
        guard let code = form.code, !code.isEmpty else { throw Failure(.malformedCallback, "code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw Failure(.malformedCallback, "id_token is missing")
        }
        self.code = code
        self.identityToken = identityToken
        kind = .browser
        name = form.name
        nonce = Base64URL.encode(opened.nonce)
        clients = [servicesID]
    }

    /// - Parameters:
    ///   - nonceClaim: of the opened challenge, in the form of `apple.nativeNonce`.
    ///   - name: made safe for display.
    init(_ request: NativeSignInRequest, nonceClaim: String, clients: [ClientID], name: PersonName) {
        code = request.authorizationCode
        identityToken = request.identityToken
        kind = .native
        self.name = name
        nonce = nonceClaim
        self.clients = clients
    }
}

extension SignIn {
    /// Reads one post to the callback. Costs no look-up and no verification.
    /// - Parameters:
    ///   - body: the form, bounded by the caller.
    ///   - binding: what the browser's cookies say.
    package func receive(_ body: [UInt8], binding: BindingCookie) -> ReceivedCallback {
        let form = Result { () throws(Failure) in try provider.parseCallback(body) }
        let state = (try? form.get())?.state
        let opened = state.flatMap { SealedAttempt.open($0, with: keyring, returnTargets) }
        return ReceivedCallback(
            form: form, opened: opened, isStale: opened.map { isStale(issuedAt: $0.used.issuedAt) } ?? false,
            binding: binding)
    }
}
