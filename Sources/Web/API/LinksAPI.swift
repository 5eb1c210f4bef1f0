import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/api/v1/links`: an application links the Apple identity of somebody it has signed in to their account there.
struct LinksAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let linking: Linking

    /// Begins a link; for a backend.
    func create(
        _ request: ServerRequest, _: PathParameters, key: APIKey
    ) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let asked = try LinkBody.creation(request)
        let made = try await answeringApps { () throws(Failure) in
            try await linking.createLink(
                externalID: asked.externalID, kind: asked.kind, displayName: asked.displayName,
                returnTo: asked.returnTo, mayReplace: key.scopes.contains(.linksReplace), waiting: asked.ticket,
                apiKey: key.id)
        }
        let url = configuration.publicURL.absolute + "/link/\(made.id)?token=\(made.addressToken.reveal())"
        var writer = JSONWriter(reserving: 512)
        writer.beginObject()
        writer.member("id", made.id.rawValue)
        writer.member("url", url)
        writer.member("ticket", made.ticket.reveal())
        writer.member("nonce", made.nonce)
        writer.member("expiresAt", made.expiresAt)
        writer.endObject()
        return responses.json(writer.bytes, status: .created, fields: [.location: url])
    }

    /// Brings Apple's answer; for an app that received the ticket.
    func authorize(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        guard !configuration.apple.bundleIDs.isEmpty else { throw WebFailure(.nativeNotConfigured) }
        _ = try APIQuery(request)
        let ticket: LinkTicket = try LinkCredential.token(request.fields)
        let id = try parameters.link
        let asked = try LinkBody.authorization(request)
        let code = try await answeringApps { () throws(Failure) in
            try await linking.authorizeLink(id, ticket: ticket, asked, device: DeviceDescription.device(of: request))
        }
        var writer = JSONWriter(reserving: 96)
        writer.beginObject()
        writer.member("code", code.reveal())
        writer.endObject()
        return responses.json(writer.bytes)
    }

    /// Redeems the code that the browser or app brought; for the backend, which has verified whose it is.
    func complete(
        _ request: ServerRequest, _ parameters: PathParameters, key: APIKey
    ) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let code = try LinkBody.code(request)
        let id = try parameters.link
        let user = try await answeringApps { () throws(Failure) in
            try await linking.completeLink(id, code: code, apiKey: key.id)
        }
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        writer.member("result", "success")
        writer.name("user")
        writer.write(user, User.fields)
        writer.endObject()
        return responses.json(writer.bytes)
    }
}

/// The bodies of links, parsed as strictly as those of apps.
enum LinkBody {
    struct Creation: Sendable {
        var externalID: String
        var kind: LinkKind
        var displayName: String
        var returnTo: String?
        var ticket: LinkTicket?
    }

    static func creation(_ request: ServerRequest) throws(WebFailure) -> Creation {
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["externalID", "kind", "displayName", "returnTo", "ticket"], "")
        guard let kind = LinkKind(rawValue: try text("kind", in: object)) else {
            throw .invalidRequest("kind is link or upgrade")
        }
        var ticket: LinkTicket?
        if let value = try NativeBody.text("ticket", in: object) {
            guard let parsed = LinkTicket(parsing: value) else { throw .invalidRequest("ticket is not a link ticket") }
            ticket = parsed
        }
        return Creation(
            externalID: try text("externalID", in: object), kind: kind,
            displayName: try text("displayName", in: object),
            returnTo: try NativeBody.text("returnTo", in: object), ticket: ticket)
    }

    static func authorization(_ request: ServerRequest) throws(WebFailure) -> LinkRequest {
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["identityToken", "authorizationCode", "user"], "")
        let (given, family) = try NativeBody.name(in: object)
        return LinkRequest(
            identityToken: try NativeBody.needed(
                "identityToken", in: object, maximumSize: NativeBody.maximumTokenSize),
            authorizationCode: try NativeBody.needed(
                "authorizationCode", in: object, maximumSize: NativeBody.maximumCodeSize),
            givenName: given, familyName: family)
    }

    /// The only member, `code`.
    static func code(_ request: ServerRequest) throws(WebFailure) -> String {
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["code"], "")
        return try text("code", in: object)
    }

    /// Bounded by the content's size; the domain validates the rest.
    private static func text(_ name: String, in object: JSONObject) throws(WebFailure) -> String {
        try NativeBody.needed(name, in: object)
    }
}
