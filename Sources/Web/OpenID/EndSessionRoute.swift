import Accounts
import Coding
import HTTP

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
