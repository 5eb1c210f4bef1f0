import Accounts
import Coding
import HTTP

/// `POST /account/sessions/revoke` and `…/revoke-all`: a person ends their own sessions elsewhere.
///
/// Posted twice, both give the first answer. Another person's session id is answered like an ended one, so that
/// guessing reveals nothing.
extension WebRoutes {
    /// Ends the session that the field `session` names. The current one is signed out.
    func revokeSession(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let form = try form(request, ["session"])
        guard let text = form["session"], let id = SessionID(parsing: text) else {
            throw .badRequest("session is not a session id")
        }
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        let isCurrent = id == signedIn.session.id
        try await database.endSession(
            id, of: signedIn.user.id, cause: isCurrent ? .signOut : .revokedByUser, at: clock.now())
        guard isCurrent else { return done(.sessionEnded, locale) }
        bounces.forget(signedIn.session, request.fields, cookies)
        return redirect(to: "/logout", locale: locale).setting([cookies.clearSession])
    }

    /// Ends every session of the person except the current one; with `applications`, also the access of applications.
    func revokeOtherSessions(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let applications = try form(request, ["applications"])["applications"]
        guard applications == nil || applications == "true" else { throw .badRequest("applications is not true") }
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        try await database.endSessions(
            of: signedIn.user.id, except: signedIn.session.id, cause: .revokedByUser, at: clock.now())
        if applications != nil {
            try await database.endAccess(of: nil, to: signedIn.user.id, at: clock.now())
        }
        return done(.othersEnded, locale)
    }

    /// `POST /account/applications/end`: ends the access of the application that the field `client` names.
    func endOwnAccess(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard let client = try form(request, ["client"])["client"].flatMap({ OpenIDClientID(parsing: $0) }) else {
            throw .badRequest("client is not a client ID")
        }
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        try await database.endAccess(of: client, to: signedIn.user.id, at: clock.now())
        return done(.accessEnded, locale)
    }

    private func done(_ notice: AccountNotice, _ locale: PageLocale) -> ServerResponse {
        redirect(to: "/account?done=\(notice.rawValue)", locale: locale)
    }
}
