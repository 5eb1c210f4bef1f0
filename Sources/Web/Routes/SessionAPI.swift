import Coding
import HTTP
import HTTPTypes
import RelyingParty

/// `GET` and `DELETE /api/v1/session`: who is signed in, asked by a page or an app; and the end of that session.
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
        let credential = reader.credential(in: request.fields)
        // A browser attaches cookies to requests of other sites; nobody attaches a Bearer but the app that holds it.
        if case .bearer = credential {
        } else if !SameOrigin.holds(request.fields, publicURL: configuration.publicURL) {
            throw .crossSite
        }
        do {
            guard let signedIn = try await reader.signedIn(credential) else { throw WebFailure.signedOut }
            _ = try await reader.sessions.endSession(signedIn.session.id, cause: .signOut, at: clock.now())
            bounces.forget([signedIn.session.tokenHash])
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw .signedOut
        }
        if case .one(let value) = cookies.binding(in: request.fields), let binding = BrowserBinding(cookie: value) {
            bounces.forget([binding.hash])
        }
        if case .cookie = credential { return responses.empty(.noContent, cookies: [cookies.clearSession]) }
        return responses.empty(.noContent)
    }
}
