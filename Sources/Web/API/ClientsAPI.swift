import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `/api/v1/clients`: the programs that sign people in by OpenID Connect, as `bramley clients` manages them.
struct ClientsAPI: Sendable {
    let responses: WebResponses
    let provider: OpenIDProvider
    /// Of assertions.
    let audiences: [String]
    let clock: any WallClock
    let random: any RandomSource

    /// How long an old secret may stay valid, in days.
    private static let keepOld: ClosedRange<Int64> = 0...90

    func list(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let clients = try await WebFailure.mapping(await provider.database.openIDClients())
        return try await responses.list(clients, next: nil, route: "/api/v1/clients") {
            OpenIDClientDocument.write($0, to: &$1)
        }
    }

    func get(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let id = try Self.id(parameters)
        guard let client = try await WebFailure.mapping(await provider.database.openIDClient(id)) else {
            throw .clientNotFound
        }
        return answer(client, nil, .ok)
    }

    /// Makes the client what the content says: 201 for a new one. A secret that had to be made is in the answer, once.
    func put(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let id = try Self.id(parameters)
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ClientRegistration.members, "")
        let wanted: ClientRegistration
        do throws(RegistrationError) {
            wanted = try ClientRegistration(object, of: id)
        } catch {
            throw .invalidRequest(error.text)
        }
        let now = clock.now()
        let known = try await WebFailure.mapping(await provider.database.openIDClient(id))
        try check(wanted.client(replacing: known, secret: nil, by: .api, at: now))
        let secret = OpenIDClientSecret.make(random: random)
        let change: Change = { before in wanted.client(replacing: before, secret: secret.hash, by: .api, at: now) }
        let (before, after) = try await self.change(id, at: now, change)
        guard let after else { throw .clientNotFound }
        let isMade = after.secrets?.current == secret.hash
        return answer(after, isMade ? secret : nil, before == nil ? .created : .ok)
    }

    /// Makes a new secret; the answer has it, once.
    func rotateSecret(
        _ request: ServerRequest, _ parameters: PathParameters
    ) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let id = try Self.id(parameters)
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["keepOldDays"], "")
        guard let days = object["keepOldDays"].map({ $0.int64Value }) ?? 7, Self.keepOld.contains(days) else {
            throw .invalidRequest("keepOldDays is not a number from 0 to \(Self.keepOld.upperBound)")
        }
        let now = clock.now()
        let secret = OpenIDClientSecret.make(random: random)
        let (before, after) = try await change(id, at: now) { before in
            guard var client = before, !client.isPublic else { return before }
            client.replaceSecret(by: secret.hash, keepingOldUntil: now.adding(seconds: days * 86_400), at: now)
            return client
        }
        guard let before, let after else { throw .clientNotFound }
        guard !before.isPublic else { throw .invalidRequest("a public client has no secret") }
        return answer(after, secret, .ok)
    }

    func delete(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let (before, _) = try await change(try Self.id(parameters), at: clock.now()) { _ in nil }
        guard before != nil else { throw .clientNotFound }
        return responses.empty(.noContent)
    }

    // MARK: Pieces

    private func check(_ client: OpenIDClient) throws(WebFailure) {
        if let problem = client.problems(audiences: audiences).first { throw .invalidRequest(problem.plain) }
        guard client.backChannelPublicOnly, let uri = client.backChannelLogoutURI else { return }
        // A name is held to it when its addresses are known: at each connection.
        guard let url = ClientURL(uri), url.isSecure, Reach.publicOnly.admits(host: url.host) else {
            throw .invalidRequest(
                "back-channel logout URI: by the API, only https to a public address; others are for an operator")
        }
    }

    private typealias Change = @Sendable (OpenIDClient?) -> OpenIDClient?

    /// - Returns: the client before and after.
    private func change(
        _ id: OpenIDClientID, at now: Timestamp, _ change: @escaping Change
    ) async throws(WebFailure) -> (before: OpenIDClient?, after: OpenIDClient?) {
        // Only tells a new client from a changed one: the transaction reads again.
        let before = try await WebFailure.mapping(await provider.database.openIDClient(id))
        let clients = try await WebFailure.mapping(
            await provider.database.changeOpenIDClients(at: now) { clients in
                clients.filter { $0.id != id } + [change(clients.first { $0.id == id })].compactMap(\.self)
            })
        return (before, clients.first { $0.id == id })
    }

    private static func id(_ parameters: PathParameters) throws(WebFailure) -> OpenIDClientID {
        guard let id = parameters["id"].flatMap({ OpenIDClientID(parsing: $0) }) else { throw .clientNotFound }
        return id
    }

    private func answer(
        _ client: OpenIDClient, _ secret: OpenIDClientSecret?, _ status: HTTPResponse.Status
    ) -> ServerResponse {
        var writer = JSONWriter()
        OpenIDClientDocument.write(client, secret: secret, to: &writer)
        return responses.json(writer.bytes, status: status)
    }
}
