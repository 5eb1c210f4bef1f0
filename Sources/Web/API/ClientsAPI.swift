import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/api/v1/clients`: the applications that sign people in by OpenID Connect, as `bramley clients` manages them.
extension WebRoutes {
    /// How long an old secret may stay valid, in days.
    private static let keepOld: ClosedRange<Int64> = 0...90

    /// Only https to a public address, since this server will ask it; a name is held to it at each connection.
    private static func isPublicAddress(_ uri: String) -> Bool {
        guard let url = ClientURL(uri) else { return false }
        return url.isSecure && Reach.publicOnly.admits(host: url.host)
    }

    var registeredClients: Clients {
        Clients(
            database, audiences: configuration.assertionAudiences.map(\.name), random: random,
            isPublicAddress: Self.isPublicAddress)
    }

    func clients(_: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        try await responses.list(database.openIDClients(), OpenIDClient.fields, route: "/api/v1/clients")
    }

    func client(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        guard let client = try await database.openIDClient(Self.id(parameters)) else { throw Failure(.clientNotFound) }
        return responses.json(JSONWriter.encode(client, OpenIDClient.fields))
    }

    /// Creates or replaces the client: 201 for a new one. The answer has a new secret, once.
    func putClient(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let id = try Self.id(parameters)
        let object = try JSONBody(request, of: ClientRegistration.members).object
        let wanted = try ClientRegistration(object, of: id)
        return try answer(await registeredClients.register(wanted, by: .api, at: clock.now()))
    }

    /// Makes a new secret; the answer has it, once.
    func rotateClientSecret(
        _ request: ServerRequest, _ parameters: PathParameters
    ) async throws(Failure) -> ServerResponse {
        let id = try Self.id(parameters)
        let object = try JSONBody(request, of: ["keepOldDays"]).object
        guard let days = object["keepOldDays"].map({ $0.int64Value }) ?? 7, Self.keepOld.contains(days) else {
            throw .invalidRequest("keepOldDays is not a number from 0 to \(Self.keepOld.upperBound)")
        }
        return try answer(await registeredClients.rotateSecret(of: id, keepingOld: days * 86_400, at: clock.now()))
    }

    func deleteClient(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        guard try await registeredClients.delete(Self.id(parameters), at: clock.now()) != nil else {
            throw Failure(.clientNotFound)
        }
        return responses.empty(.noContent)
    }

    private static func id(_ parameters: PathParameters) throws(Failure) -> OpenIDClientID {
        guard let id = parameters["id"].flatMap({ OpenIDClientID(parsing: $0) }) else { throw Failure(.clientNotFound) }
        return id
    }

    private func answer(_ outcome: ClientOutcome) throws(Failure) -> ServerResponse {
        switch outcome {
        case .saved(let client, let secret, let before):
            return responses.json(
                JSONWriter.encode(client, OpenIDClient.fields.with("clientSecret", secret)),
                status: before == nil ? .created : .ok)
        case .unknown, .taken: throw Failure(.clientNotFound)
        case .withoutSecret: throw .invalidRequest("a public client has no secret")
        case .invalid(let problems):
            throw .invalidRequest(problems.first?.plain ?? "the client cannot work like this")
        }
    }
}
