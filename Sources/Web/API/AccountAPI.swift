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
    let bounces: BounceMemory
    let clock: any WallClock

    /// 202: gone here, durably, when this answers; Apple is told afterwards.
    func delete(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let credential = try reader.changing(request.fields, configuration.publicURL)
        let signedIn = try await reader.active(credential)
        let now = clock.now()
        guard RecentSignIn.holds(signedIn.session, at: now) else { throw .freshSignInRequired }
        do {
            // Unknown when another request was quicker: gone all the same.
            _ = try await users.deleteUser(signedIn.user.id, at: now)
        } catch {
            throw .store(error)
        }
        bounces.forget(signedIn.session, request.fields, cookies)
        if case .cookie = credential { return responses.empty(.accepted, cookies: [cookies.clearSession]) }
        return responses.empty(.accepted)
    }
}
