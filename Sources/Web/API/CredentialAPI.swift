import Accounts
import HTTP
import HTTPTypes

/// `GET /api/v1/users/{id}/credential`: what Apple last reported about each of the user's identities, since when and
/// why.
struct CredentialAPI: Sendable {
    let responses: WebResponses
    let database: Database

    func get(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        // An invalid id names nobody.
        guard let id = parameters["id"].flatMap({ UserID(parsing: $0) }) else { throw WebFailure(.userNotFound) }
        guard let identities = try await WebFailure.mapping(await database.identities(of: id)) else {
            throw WebFailure(.userNotFound)
        }
        var response = responses.json([])
        response.body = try await responses.body(
            of: CredentialDocument.document(identities), route: "/api/v1/users/{id}/credential")
        return response
    }
}
