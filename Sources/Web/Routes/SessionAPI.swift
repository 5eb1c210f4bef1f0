import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET` and `DELETE /api/v1/session`: who is signed in, for a page or an app; and the end of that session.
extension WebRoutes {
    func session(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        return responses.json(signedIn.document())
    }

    func endSession(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let credential = try reader.changing(request.fields, configuration.publicURL)
        guard let signedIn = try await reader.signedIn(credential) else { throw Failure(.signedOut) }
        try await reader.database.endSession(signedIn.session.id, cause: .signOut, at: clock.now())
        bounces.forget(signedIn.session, request.fields, cookies)
        if case .cookie = credential { return responses.empty(.noContent).setting([cookies.clearSession]) }
        return responses.empty(.noContent)
    }
}
