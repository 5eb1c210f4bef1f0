import Accounts
import Coding
import HTTP
import HTTPTypes

/// `POST /api/v1/introspect` (RFC 7662): for a backend: whose session or access token this is. A token for a service is
/// for that service alone.
extension WebRoutes {
    /// RFC 7662 §2.2: nothing else, whatever the reason.
    private static let inactive = Array(#"{"active":false}"#.utf8)

    /// With an API key.
    func introspect(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let text = try Self.token(request)
        guard let token = SessionToken(parsing: text) else { return try await accessToken(text, for: nil) }
        guard let found = try await reader.live(token), found.user.state == .active else {
            return responses.json(Self.inactive)
        }
        return responses.json(
            found.introspection(issuer: configuration.publicURL.absolute, end: reader.limits.end(of: found.session)))
    }

    /// For a service. Nil without the credentials of one: the holder of an API key is answered, and everybody else
    /// refused and counted.
    func introspectByService(_ request: ServerRequest) async throws(Failure) -> ServerResponse? {
        let authorization = request.fields[values: .authorization]
        guard let service = try await services.openID?.service(authorization: authorization) else { return nil }
        try BodyLimit.require(BodyLimit.api, of: request)
        _ = try APIQuery(request)
        return try await accessToken(Self.token(request), for: service)
    }

    /// An access token of the OpenID provider.
    private func accessToken(_ text: String, for service: Service?) async throws(Failure) -> ServerResponse {
        guard let provider = services.openID, let held = try await provider.grant(access: text),
            held.grant.access?.service == service?.uri
        else { return responses.json(Self.inactive) }
        return responses.json(held.introspection(issuer: provider.issuer))
    }

    /// The form's only `token`. An unused `token_type_hint` and other parameters are allowed (RFC 6749 §3.2: ignored).
    private static func token(_ request: ServerRequest) throws(Failure) -> String {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        guard let form = try? FormDecoder.parse(request.body) else { throw .invalidRequest("too many parameters") }
        for name in ["token", "token_type_hint"] where form.count(where: { $0.name.isExactly(name) }) > 1 {
            throw .invalidRequest("\(name) is given twice")
        }
        guard let token = form.first(where: { $0.name.isExactly("token") })?.value, !token.isEmpty else {
            throw .invalidRequest("token is missing")
        }
        return token
    }
}
