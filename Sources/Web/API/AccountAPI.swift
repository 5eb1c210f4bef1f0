import Accounts
import Coding
import HTTP
import HTTPTypes

/// `DELETE /api/v1/account`: people who delete their account in an app, or by script on a page of ours.
struct AccountAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let database: Database
    let bounces: BounceMemory
    let signIn: SignIn
    /// For requests with a code: each costs a request to Apple.
    let gate: RateGate
    let clock: any WallClock

    /// 202: deleted here, durably, when this answers; Apple is told afterwards, if possible.
    func delete(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let credential = try reader.changing(request.fields, configuration.publicURL)
        let fresh = try NativeBody.freshAuthorization(request)
        let signedIn = try await reader.active(credential)
        if let fresh {
            guard signedIn.session.kind == .native else {
                throw .invalidRequest("an authorization code is taken from an app that is signed in")
            }
            try gate.pass(request)
            // What Apple has just given the app proves more than a sign-in some minutes ago.
            try await answeringApps { () throws(Failure) in try await signIn.redeem(fresh, of: signedIn) }
        } else {
            guard RecentSignIn.holds(signedIn.session, at: clock.now()) else { throw WebFailure(.freshSignInRequired) }
        }
        // Unknown when another request was faster: deleted all the same.
        let deletion = try await WebFailure.mapping(await database.deleteUser(signedIn.user.id, at: clock.now()))
        bounces.forget(signedIn.session, request.fields, cookies)
        var cleared: [String] = []
        if case .cookie = credential { cleared.append(cookies.clearSession) }
        return responses.json(DeletionDocument.encode(deletion), status: .accepted, cookies: cleared)
    }
}
