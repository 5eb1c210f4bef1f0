import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET` and `POST /oidc/logout` (OpenID Connect RP-Initiated Logout §2): applications sign visitors out here too.
extension WebRoutes {
    /// A post from another site brings no session cookie (`SameSite=Lax`): it continues as a GET.
    func postOpenIDLogout(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        let query = FormEncoder.encode(try Self.parameters(request.body).map { ($0.name, $0.value) })
        return responses.redirect(
            to: configuration.publicURL.path("/oidc/logout") + "?" + String(decoding: query, as: UTF8.self))
    }

    /// Ends the session of the person whom the ID token names. Others are asked first: any site could sign them out.
    func openIDLogout(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let fields = try Self.parameters(Array((request.query ?? "").utf8))
        let answer = try await provider.logout(LogoutRequest(fields))
        if let (client, uri) = answer.refusal {
            throw .openIDRedirectRefused(client, "post_logout_redirect_uri", uri, not: client.logoutURIs)
        }
        let page = responses.locale(of: request).link(configuration.publicURL.path("/logout"))
        let onward = answer.location ?? page
        guard let signedIn = try await signedIn(request) else { return responses.redirect(to: onward) }
        guard answer.user == signedIn.user.id else { return responses.redirect(to: page) }
        try await database.endSession(signedIn.session.id, cause: .signOut, at: clock.now())
        bounces.forget(signedIn.session, request.fields, cookies)
        return responses.redirect(to: onward).setting([cookies.clearSession])
    }
}

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

enum MetadataPath {
    private static let names = ["oauth-authorization-server", "openid-configuration"].map { "/.well-known/" + $0 }

    /// The path of a route. If publicURL has a path, clients look for the metadata at the host's root first, with that
    /// path after the name (RFC 8414 §3.1).
    static func full(_ path: String, _ publicURL: PublicURL) -> String {
        guard !publicURL.basePath.isEmpty, path.hasPrefix("/.well-known/"),
            let name = names.first(where: { path == $0 + publicURL.basePath })
        else { return path }
        return publicURL.path(name)
    }
}
