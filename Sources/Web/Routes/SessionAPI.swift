import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET` and `DELETE /api/v1/session`: who is signed in, for a page or an app; and the end of that session.
struct SessionAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let bounces: BounceMemory
    let clock: any WallClock

    func get(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        return responses.json(SessionDocument.encode(signedIn))
    }

    func delete(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let credential = try reader.changing(request.fields, configuration.publicURL)
        guard let signedIn = try await WebFailure.mapping(await reader.signedIn(credential)) else {
            throw WebFailure(.signedOut)
        }
        try await WebFailure.mapping(
            await reader.database.endSession(signedIn.session.id, cause: .signOut, at: clock.now()))
        bounces.forget(signedIn.session, request.fields, cookies)
        if case .cookie = credential { return responses.empty(.noContent, cookies: [cookies.clearSession]) }
        return responses.empty(.noContent)
    }
}
