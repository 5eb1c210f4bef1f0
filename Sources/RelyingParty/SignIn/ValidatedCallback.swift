import Coding
import Crypto

/// An answer of Apple's whose attempt is ours, from a browser that matched or from an app: what may be taken to Apple,
/// once.
struct ValidatedCallback: ~Copyable {
    let code: String
    let identityToken: String
    let name: PersonName?
    /// As Apple's token has to echo it.
    let nonce: String
    /// Whose audience the token may be.
    let clients: [ClientID]

    init(form: CallbackForm, opened: OpenedState, servicesID: ClientID) throws(SignInFailure) {
        guard let code = form.code, !code.isEmpty else { throw .malformedCallback("code is missing") }
        guard let identityToken = form.identityToken, !identityToken.isEmpty else {
            throw .malformedCallback("id_token is missing")
        }
        self.code = code
        self.identityToken = identityToken
        self.name = form.name
        self.nonce = Base64URL.encode(opened.attempt.nonce)
        self.clients = [servicesID]
    }

    /// - Parameters:
    ///   - nonceClaim: of the challenge that was opened, as `apple.nativeNonce` says.
    ///   - name: made safe.
    init(_ request: NativeSignInRequest, nonceClaim: String, clients: [ClientID], name: PersonName) {
        code = request.authorizationCode
        identityToken = request.identityToken
        self.name = name
        nonce = nonceClaim
        self.clients = clients
    }
}

/// The attempt that a sign-in uses up, a browser's or an app's.
struct SignInAttempt: Sendable {
    var id: Digest256
    var issuedAt: Timestamp
    /// Of the browser's binding; of an app, the digest of its request.
    var bindingHash = SHA256.hash([])
    var replacing: SessionID?
}
