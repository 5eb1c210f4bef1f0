import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET /account/export`: everything stored about the person, as a file.
extension WebRoutes {
    func export(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        // Another site can lead here with the cookie, though the log would say that the person asked.
        guard SameOrigin.isOwnOrTyped(request.fields) else { return redirect(to: "/account", locale: locale) }
        try exports.pass(request)
        let now = clock.now()
        let record = try await database.accountRecord(of: signedIn.user.id, newest: 0, at: now)
        // Deleted between the two look-ups.
        guard let record else { return login(returningTo: "/account", locale: locale) }
        try await database.record(.userExported, user: signedIn.user.id, object: nil, at: now)
        var response = responses.json([])
        response.body = try await responses.body(of: AccountExport(record, database, at: now), route: "/account/export")
        response.fields[.contentDisposition] = "attachment; filename=\"bramley-account.json\""
        return response
    }
}
