import Accounts
import Coding
import HTTP
import HTTPTypes

/// `POST /account/sessions/revoke` and `…/revoke-all`: a person ends their own sessions elsewhere.
///
/// Posted twice, both give the first answer. Another person's session id is answered like an ended one, so that
/// guessing reveals nothing.
struct AccountSessionRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let access: AccountAccess
    let database: Database
    let bounces: BounceMemory
    let clock: any WallClock

    /// Ends the session that the field `session` names. The current one is signed out.
    func revoke(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let form = try access.form(request, ["session"])
        guard let text = form["session"], let id = SessionID(parsing: text) else {
            throw .badRequest("session is not a session id")
        }
        let locale = responses.locale(of: request)
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account", locale: locale)
        }
        let isCurrent = id == signedIn.session.id
        try await WebFailure.mapping(
            await database.endSession(
                id, of: signedIn.user.id, cause: isCurrent ? .signOut : .revokedByUser, at: clock.now()))
        guard isCurrent else { return done(.sessionEnded, locale) }
        bounces.forget(signedIn.session, request.fields, cookies)
        return responses.redirect(
            to: locale.link(configuration.publicURL.path("/logout")), cookies: [cookies.clearSession])
    }

    /// Ends every session of the person except the current one.
    func revokeAll(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        _ = try access.form(request, [])
        let locale = responses.locale(of: request)
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account", locale: locale)
        }
        try await WebFailure.mapping(
            await database.endSessions(
                of: signedIn.user.id, except: signedIn.session.id, cause: .revokedByUser, at: clock.now()))
        return done(.othersEnded, locale)
    }

    private func done(_ notice: AccountNotice, _ locale: PageLocale) -> ServerResponse {
        responses.redirect(
            to: locale.link(configuration.publicURL.path("/account?done=\(notice.rawValue)")))
    }
}
