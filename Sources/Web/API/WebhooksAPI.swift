import Accounts
import Coding
import HTTP

/// `/api/v1/webhooks`: the state of deliveries to applications, and a way to repeat them.
extension WebRoutes {
    /// The size of an address in bytes; configured ones are far shorter.
    private static let longestURL = 2_048

    func webhooks(_: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let now = clock.now()
        let found = try await endpoints?.database.webhookEndpoints() ?? []
        let kinds = Dictionary((endpoints?.targets ?? []).map { ($0.url, $0.kinds) }) { first, _ in first }
        return try await responses.list(
            found, WebhookEndpoint.fields(kinds, at: now, for: .api), route: "/api/v1/webhooks")
    }

    func deadLetters(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let query = try APIQuery(request, names: ["limit", "after"])
        let limit = try query.limit()
        let place = try query.place(.deadWebhooks)
        let page = try await endpoints?.database.deadWebhooks(after: place, limit: limit) ?? Page()
        return try await responses.list(
            page.items, next: page.next.map(Places.deadWebhooks.text), DeadWebhook.fields(for: .api),
            route: "/api/v1/webhooks/dead-letters")
    }

    /// Retries what the content names: `event`, `endpoint` or `allDead`.
    func retryWebhooks(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let body = try JSONBody(request, of: ["event", "endpoint", "allDead"])
        let object = body.object
        guard object.members.count == 1 else {
            throw .invalidRequest("the content names one of event, endpoint, allDead")
        }
        let retry: WebhookRetry
        if object["allDead"] != nil {
            guard object["allDead"] == true else { throw .invalidRequest("allDead is not true") }
            retry = .allDead
        } else if object["event"] != nil {
            let text = try body.needed("event")
            guard let id = EventID(parsing: text) else { throw .invalidRequest("event is not the id of an event") }
            retry = .event(id)
        } else {
            retry = .endpoint(url: try await waiting(in: body))
        }
        let count = try await endpoints?.database.retryWebhooks(retry, at: clock.now()) ?? 0
        // No endpoint waits for it, and it was not given up.
        if case .event = retry, count == 0 { throw Failure(.webhookNotFound) }
        return responses.json { writer in writer.member("retried", Int64(count)) }
    }

    /// Sends one event to one endpoint and answers with the result.
    func testWebhook(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let body = try JSONBody(request, of: ["endpoint"])
        let url = try endpoint(in: body)
        guard let endpoints else { throw Failure(.webhookNotFound) }
        let result = try await endpoints.test(url)
        return responses.json(JSONWriter.encode(result, WebhookTestResult.fields(of: url, for: .api)))
    }

    /// One of this server, or of a client of the OpenID provider.
    private func waiting(in body: JSONBody) async throws(Failure) -> String {
        guard let url = body.object["endpoint"]?.stringValue, WebhookEndpoint.client(of: url) != nil else {
            return try endpoint(in: body)
        }
        let known = try await endpoints?.database.webhookEndpoints() ?? []
        guard known.contains(where: { $0.url.isExactly(url) }) else { throw Failure(.webhookNotFound) }
        return url
    }

    /// One that this server sends events to.
    private func endpoint(in body: JSONBody) throws(Failure) -> String {
        let url = try body.needed("endpoint", maximumSize: Self.longestURL)
        guard url.isVisibleASCII else { throw .invalidRequest("endpoint is not an address") }
        guard let target = endpoints?.target(url) else { throw Failure(.webhookNotFound) }
        return target.url
    }
}
