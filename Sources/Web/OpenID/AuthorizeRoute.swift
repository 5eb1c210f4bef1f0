import Coding
import HTTP
import HTTPTypes
import OpenIDProvider
import RelyingParty

/// `GET` and `POST /oidc/authorize` (OIDC Core §3.1.2): where a program sends people to sign in.
struct AuthorizeRoute: Sendable {
    static let path = "/oidc/authorize"
    /// Bytes of a request, in a query or a form.
    static let limit = 16_384

    let configuration: WebConfiguration
    let responses: WebResponses
    let reader: SignedInReader
    let login: LoginRoutes
    let provider: OpenIDProvider
    let targets: ReturnTargets

    /// A post from another site brings no session cookie (`SameSite=Lax`): it goes on as a GET (RFC 9700 §4.12).
    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard MediaType.isForm(request.fields) else { throw .unsupportedMediaType }
        let query = FormEncoder.encode(try Self.fields(request.body).map { ($0.name, $0.value) })
        return responses.redirect(
            to: configuration.publicURL.path(Self.path) + "?" + String(decoding: query, as: UTF8.self)
        ).keepingOpener()
    }

    func get(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let asked = AuthorizeRequest(try Self.fields(Array((request.query ?? "").utf8)))
        guard let id = asked.clientID,
            let client = try await WebFailure.mapping(await provider.client(id))
        else { throw .openIDClientUnknown }
        guard let address = asked.answerAddress(of: client) else { throw .openIDAddressRefused(client) }
        let valid: ValidatedAuthorizeRequest
        do throws(ProviderError) {
            valid = try ValidatedAuthorizeRequest(asked, client: client, address: address)
        } catch {
            return responses.redirect(to: address.location(error, issuer: provider.issuer)).keepingOpener()
        }
        let signedIn = try await signedIn(request)
        let answer = try await WebFailure.mapping(
            await provider.authorize(valid, signedIn: signedIn, isCancelled: asked.isCancelled))
        switch answer {
        case .redirect(let location): return responses.redirect(to: location).keepingOpener()
        case .signIn(let query):
            guard let target = target(query) else {
                let error = ProviderError(.invalidRequest, "the request is too long, or has control characters")
                return responses.redirect(to: address.location(error, issuer: provider.issuer)).keepingOpener()
            }
            let received = valid.scopes.filter { $0 != .openid && $0 != .offlineAccess }.map(\.rawValue)
            return login.page(
                request, for: target, signedIn, notice: .program(client.name, receives: received))
        case .notAllowed(let declined):
            throw .openIDNotAllowed(
                OpenIDRefusal(
                    client: client, person: signedIn?.user, declined: declined,
                    target: targets.validate(
                        configuration.publicURL.path(Self.path) + "?" + (request.query ?? ""))))
        }
    }

    private func target(_ query: String) -> ReturnTarget? {
        targets.validate(configuration.publicURL.path(Self.path) + "?" + query)
    }

    /// The browser's session. An app's token is no sign-in of a browser.
    private func signedIn(_ request: ServerRequest) async throws(WebFailure) -> SignedIn? {
        guard case .cookie(let token) = reader.credential(in: request.fields) else { return nil }
        return try await WebFailure.mapping(await reader.signedIn(.cookie(token)))
    }

    /// The parameters of a query or a form.
    static func fields(_ bytes: [UInt8]) throws(WebFailure) -> [FormField] {
        guard let fields = try? FormDecoder.parse(bytes, limits: FormLimits(maximumBytes: limit)) else {
            throw .badRequest("the request is larger than \(limit) bytes, or has too many parameters")
        }
        return fields
    }
}

/// A person who may not use a program.
struct OpenIDRefusal: Sendable {
    var client: OpenIDClient
    var person: User?
    /// Tells the program.
    var declined: String
    /// The request, for another account; nil when it is too long.
    var target: ReturnTarget?
}
