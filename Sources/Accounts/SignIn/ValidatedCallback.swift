import Coding
import Crypto

/// Apple's answer to an attempt of ours, from the right browser or from an app: may be taken to Apple, once.
struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let name: PersonName?
    /// As Apple's token must repeat it.
    let nonce: String
    /// The accepted audiences of the token.
    let clients: [ClientID]

    init(form: CallbackForm, opened: OpenedState, servicesID: ClientID) throws(Failure) {
        guard let code = form.code, !code.isEmpty else { throw Failure(.malformedCallback, "code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw Failure(.malformedCallback, "id_token is missing")
        }
        self.code = code
        self.identityToken = identityToken
        self.name = form.name
        self.nonce = Base64URL.encode(opened.attempt.nonce)
        self.clients = [servicesID]
    }

    /// - Parameters:
    ///   - nonceClaim: of the opened challenge, in the form of `apple.nativeNonce`.
    ///   - name: made safe for display.
    init(_ request: NativeSignInRequest, nonceClaim: String, clients: [ClientID], name: PersonName) {
        code = request.authorizationCode
        identityToken = request.identityToken
        self.name = name
        nonce = nonceClaim
        self.clients = clients
    }
}

/// The attempt that a sign-in of a browser or app uses up.
struct SignInAttempt: Sendable {
    var id: Digest256
    var issuedAt: Timestamp
    /// The hash of the browser's binding; for an app, the digest of its request.
    var bindingHash = SHA256.hash([])
    var replacing: SessionID?
}
