import Accounts
import Coding
import HTTP

/// `POST /api/v1/introspect` (RFC 7662): whose session, or whose access token of a program, a token is, for a backend.
extension WebRoutes {
    /// RFC 7662 §2.2: nothing else, whatever the reason.
    private static let inactive = Array(#"{"active":false}"#.utf8)

    func introspect(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        let text = try Self.token(request.body)
        guard let token = SessionToken(parsing: text) else { return try await program(text) }
        guard let found = try await reader.live(token), found.user.state == .active else {
            return responses.json(Self.inactive)
        }
        return responses.json(
            found.introspection(issuer: configuration.publicURL.absolute, end: reader.limits.end(of: found.session)))
    }

    /// A program's access token.
    private func program(_ text: String) async throws(Failure) -> ServerResponse {
        guard let provider = services.openID, let held = try await provider.grant(access: text) else {
            return responses.json(Self.inactive)
        }
        return responses.json(held.introspection(issuer: provider.issuer))
    }

    /// The form's only `token`. An unused `token_type_hint` and other parameters are allowed (RFC 6749 §3.2: ignored).
    private static func token(_ body: [UInt8]) throws(Failure) -> String {
        guard let form = try? FormDecoder.parse(body) else { throw .invalidRequest("too many parameters") }
        for name in ["token", "token_type_hint"] where form.count(where: { $0.name.isExactly(name) }) > 1 {
            throw .invalidRequest("\(name) is given twice")
        }
        guard let token = form.first(where: { $0.name.isExactly("token") })?.value, !token.isEmpty else {
            throw .invalidRequest("token is missing")
        }
        return token
    }
}
