import Coding
import HTTP
import HTTPTypes
import RelyingParty

/// `DELETE /api/v1/account`: people who delete their account in an app, or on a page of ours with a script.
struct AccountAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let users: any UserDirectory
    let clock: any WallClock

    /// 202: gone here, durably, when this answers; Apple is told afterwards.
    func delete(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let credential = reader.credential(in: request.fields)
        // A browser attaches cookies to requests of other sites; nobody attaches a Bearer but the app that holds it.
        if case .bearer = credential {
        } else if !SameOrigin.holds(request.fields, publicURL: configuration.publicURL) {
            throw .crossSite
        }
        let signedIn = try await reader.active(credential)
        let now = clock.now()
        guard RecentSignIn.holds(signedIn.session, at: now) else { throw .freshSignInRequired }
        do {
            // False when another request was quicker: gone all the same.
            _ = try await users.deleteUser(signedIn.user.id, at: now)
        } catch {
            throw .store(error)
        }
        if case .cookie = credential { return responses.empty(.accepted, cookies: [cookies.clearSession]) }
        return responses.empty(.accepted)
    }
}
