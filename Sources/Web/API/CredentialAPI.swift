import HTTP
import HTTPTypes
import RelyingParty

/// `GET /api/v1/users/{id}/credential`: what Apple last said of each of the user's identities, since when and why.
struct CredentialAPI: Sendable {
    let responses: WebResponses
    let users: any UserDirectory

    func get(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        // What is no id names nobody.
        guard let id = parameters["id"].flatMap({ UserID(parsing: $0) }) else { throw .userNotFound }
        do throws(StoreError) {
            if let identities = try await users.identities(of: id) {
                return responses.json(CredentialDocument.encode(identities))
            }
        } catch {
            throw .store(error)
        }
        throw .userNotFound
    }
}
