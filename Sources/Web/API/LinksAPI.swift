import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/api/v1/links`: an application links somebody's Apple identity to their account there.
extension WebRoutes {
    func createLink(_ request: ServerRequest, _: PathParameters, key: APIKey) async throws(Failure) -> ServerResponse {
        let body = try JSONBody(request, of: ["externalID", "kind", "displayName", "returnTo", "ticket"])
        guard let kind = LinkKind(rawValue: try body.needed("kind")) else {
            throw .invalidRequest("kind is link or upgrade")
        }
        let text = try body.text("ticket")
        let ticket = text.flatMap { LinkTicket(parsing: $0) }
        guard text == nil || ticket != nil else { throw .invalidRequest("ticket is not a link ticket") }
        // Bounded by the content's size; the domain validates the rest.
        let made = try await translating(
            await signIn.createLink(
                externalID: try body.needed("externalID"), kind: kind, displayName: try body.needed("displayName"),
                returnTo: try body.text("returnTo"), waiting: ticket, by: key), \Failure.ofApp)
        let url = configuration.publicURL.absolute + "/link/\(made.id)?token=\(made.addressToken.reveal())"
        return responses.json(status: .created, fields: [.location: url]) { writer in
            writer.member("id", made.id.rawValue)
            writer.member("url", url)
            writer.member("ticket", made.ticket.reveal())
            writer.member("nonce", made.nonce)
            writer.member("expiresAt", made.expiresAt)
        }
    }

    /// Brings Apple's answer; for an app that received the ticket.
    func authorizeLink(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        try requireApps()
        _ = try APIQuery(request)
        let ticket = try Self.linkTicket(request.fields)
        let id = try parameters.link
        let asked = try NativeSignInRequest(
            JSONBody(request, of: ["identityToken", "authorizationCode", "user"]), hasNonce: false)
        let device = DeviceDescription.device(of: request)
        let code = try await translating(
            await signIn.authorizeLink(id, ticket: ticket, asked, device: device), \Failure.ofApp)
        return responses.json { writer in writer.member("code", code.reveal()) }
    }

    /// The ticket of a link from an app: one field `Authorization: Bearer` (RFC 6750 §2.1). 401 without any.
    private static func linkTicket(_ fields: HTTPFields) throws(Failure) -> LinkTicket {
        let values = fields[values: .authorization]
        guard let value = values.first else { throw Failure(.tokenRequired) }
        let (scheme, credentials) = HTTPFields.authorization(value)
        guard values.count == 1, scheme == "bearer", let token = credentials.flatMap({ LinkTicket(parsing: $0) }) else {
            throw Failure(.linkUnknown)
        }
        return token
    }

    /// Redeems the code that the browser or app brought; for the backend, which has verified whose it is.
    func completeLink(
        _ request: ServerRequest, _ parameters: PathParameters, key: APIKey
    ) async throws(Failure) -> ServerResponse {
        let code = try JSONBody(request, of: ["code"]).needed("code")
        let id = try parameters.link
        let user = try await translating(await signIn.completeLink(id, code: code, apiKey: key.id), \Failure.ofApp)
        return responses.json { writer in
            writer.member("result", "success")
            writer.name("user")
            writer.write(user, User.fields)
        }
    }
}
