import Accounts
import HTTP
import HTTPTypes

/// `GET /api/v1/users/{id}/credential`: what Apple last reported about each of the user's identities, since when and
/// why.
extension WebRoutes {
    func credential(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        _ = try APIQuery(request)
        // An invalid id names nobody.
        guard let id = parameters["id"].flatMap({ UserID(parsing: $0) }) else { throw Failure(.userNotFound) }
        guard let identities = try await database.identities(of: id) else {
            throw Failure(.userNotFound)
        }
        var response = responses.json([])
        response.body = try await responses.body(
            of: CredentialDocument.document(identities), route: "/api/v1/users/{id}/credential")
        return response
    }
}
