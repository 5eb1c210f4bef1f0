import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// The endpoints that applications call themselves: metadata, tokens, userinfo and revocation.
extension WebRoutes {
    /// OIDC Discovery §4, RFC 8414 §3. There is none while no application can sign people in.
    func openIDMetadata(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let provider = try provider
        if !provider.acceptsDocuments, try await !database.needsOpenIDKeys() { throw Failure(.openIDNotConfigured) }
        return responses.json(
            provider.metadata(services: try await database.services()),
            fields: [.cacheControl: "public, max-age=\(SigningKeySchedule.cacheLifetime)"])
    }

    /// RFC 6749 §3.2, OIDC Core §3.1.3.
    func openIDTokens(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let (asked, client) = try await client(of: request)
        let answer = try await translating(await provider.tokens(for: asked, of: client)) { (error: Failure) in
            error.of(client)
        }
        // RFC 6749 §5.1; no-store is on every answer.
        return responses.json(fields: [.pragma: "no-cache"]) { writer in
            writer.member("access_token", answer.access.reveal())
            writer.member("token_type", "Bearer")
            writer.member("expires_in", answer.expiresIn)
            if let idToken = answer.idToken { writer.member("id_token", idToken.reveal()) }
            if let refresh = answer.refresh { writer.member("refresh_token", refresh.reveal()) }
            writer.member("scope", OpenIDScope.text(answer.scopes))
        }
    }

    /// RFC 7009.
    func revokeToken(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let (asked, client) = try await client(of: request)
        try await provider.revoke(asked, of: client)
        return responses.empty(.ok)
    }

    /// OIDC Core §5.3.
    func userInfo(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard let token = try Self.bearer(of: request) else {
            throw Self.refusal(.tokenRequired, "", ProviderError(.invalidToken, "there is no access token"))
        }
        let held = try await provider.grant(access: token)
        // A service's token is for nobody else (RFC 8707 §2.2).
        guard let held, held.grant.access?.service == nil else {
            throw .oauth(.invalidToken, "the access token is unknown, has ended, or is for a service")
        }
        return responses.json(JSONWriter.encode(held.claims))
    }

    /// RFC 6750 §2.1; in a form only without `Authorization` (§2.2). A query would end up in logs.
    private static func bearer(of request: ServerRequest) throws(Failure) -> String? {
        let authorizations = request.fields[values: .authorization]
        var found = authorizations.map(HTTPFields.authorization).compactMap {
            $0.scheme == "bearer" ? $0.credentials : nil
        }
        if request.method == .post, MediaType.isForm(request.fields), let form = try? FormDecoder.parse(request.body) {
            found += form.filter { $0.name.isExactly("access_token") }.map(\.value)
        }
        guard found.count <= 1, authorizations.count <= 1 else {
            throw refusal(
                .invalidRequest, ", error=\"invalid_request\"",
                ProviderError(.invalidRequest, "the access token is sent in two ways"))
        }
        return found.first
    }

    /// - Parameter parameters: of the challenge, with a leading comma (RFC 6750 §3).
    private static func refusal(_ code: ReasonCode, _ parameters: String, _ error: ProviderError) -> Failure {
        var failure = Failure(code)
        failure.challenges = [Failure.challenge + parameters]
        failure.oauth = error
        return failure
    }

    func client(of request: ServerRequest) async throws(Failure) -> (ProviderRequest, OpenIDClient) {
        guard MediaType.isForm(request.fields), let form = try? FormDecoder.parse(request.body) else {
            throw .oauth(.invalidRequest, "the content must be application/x-www-form-urlencoded")
        }
        do {
            let asked = try ProviderRequest(form, authorization: request.fields[values: .authorization])
            return (asked, try await provider.authenticate(asked))
        } catch {
            if error.oauth?.code == .invalidClient { try failedClients.pass(request) }
            throw error
        }
    }
}
