import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET /account/export`: everything stored about the person, as a file.
struct AccountExportRoute: Sendable {
    let responses: WebResponses
    let access: AccountAccess
    let database: Database
    let clock: any WallClock
    /// Each request reads all of it and writes an audit line.
    let gate: RateGate

    func get(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account", locale: responses.locale(of: request))
        }
        // Another site can lead here with the cookie: that is not the person's wish, though the log would say so.
        guard SameOrigin.isOwnOrTyped(request.fields) else {
            return access.redirect(to: "/account", locale: responses.locale(of: request))
        }
        try gate.pass(request)
        let now = clock.now()
        let record = try await WebFailure.mapping(
            await database.accountRecord(of: signedIn.user.id, newest: 0, at: now))
        // Deleted between the two look-ups.
        guard let record else { return access.login(returningTo: "/account", locale: responses.locale(of: request)) }
        try await WebFailure.mapping(await database.record(.userExported, user: signedIn.user.id, object: nil, at: now))
        var response = responses.json([])
        response.body = try await responses.body(
            of: ExportDocument(export: AccountExport(record, database, at: now)), route: "/account/export")
        response.fields[.contentDisposition] = "attachment; filename=\"bramley-account.json\""
        return response
    }
}
