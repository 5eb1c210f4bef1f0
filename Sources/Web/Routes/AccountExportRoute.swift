import HTTP
import HTTPTypes
import RelyingParty

/// `GET /account/export`: everything kept about the person, as a file.
struct AccountExportRoute: Sendable {
    /// For one client address.
    static let perMinute = 120

    let responses: WebResponses
    let access: AccountAccess
    let users: any UserDirectory
    let audit: (any AuditLog)?
    let clock: any WallClock
    /// Each reads all that is kept and writes a line of the audit log.
    let gate: RateGate

    func get(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account", locale: responses.locale(of: request))
        }
        // Another site can lead here, cookie and all: that is not the person's wish, and the log would say it was.
        guard SameOrigin.isOwnOrTyped(request.fields) else {
            return responses.redirect(to: responses.locale(of: request).link("/account"))
        }
        try gate.pass(request)
        let now = clock.now()
        let record: AccountRecord?
        do {
            record = try await users.accountRecord(of: signedIn.user.id, at: now)
        } catch {
            throw .store(error)
        }
        // Deleted between the two look-ups.
        guard let record else { return access.login(returningTo: "/account", locale: responses.locale(of: request)) }
        do {
            try await audit?.note(.userExported, user: signedIn.user.id, object: nil, at: now)
        } catch {
            throw .store(error)
        }
        var response = responses.json(AccountExport.encode(record, at: now))
        response.fields[.contentDisposition] = "attachment; filename=\"bramley-account.json\""
        return response
    }
}
