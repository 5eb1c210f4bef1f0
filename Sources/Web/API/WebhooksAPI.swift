import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/api/v1/webhooks`: the state of deliveries to applications, and a way to repeat them.
struct WebhooksAPI: Sendable {
    let responses: WebResponses
    /// Nil where webhooks are not handled: then there are none.
    let endpoints: WebhookEndpoints?
    let clock: any WallClock

    /// Seconds after which a test that was refused because of another may be sent.
    private static let pause = 15
    /// The size of an address in bytes; configured ones are far shorter.
    private static let longestURL = 2_048

    func list(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let now = clock.now()
        let found = try await WebFailure.mapping(await endpoints?.database.webhookEndpoints() ?? [])
        let kinds = Dictionary((endpoints?.targets ?? []).map { ($0.url, $0.kinds) }) { first, _ in first }
        return try await responses.list(
            found, WebhookEndpoint.fields(kinds, at: now, for: .api), route: "/api/v1/webhooks")
    }

    func deadLetters(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        let query = try APIQuery(request, names: ["limit", "after"])
        let limit = try query.limit()
        let place = try query.place(.deadWebhooks)
        let page = try await WebFailure.mapping(
            await endpoints?.database.deadWebhooks(after: place, limit: limit) ?? Page())
        return try await responses.list(
            page.items, next: page.next.map(Places.deadWebhooks.text), DeadWebhook.fields(for: .api),
            route: "/api/v1/webhooks/dead-letters")
    }

    /// Retries what the content names: `event`, `endpoint` or `allDead`.
    func retry(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["event", "endpoint", "allDead"], "")
        guard object.members.count == 1 else {
            throw .invalidRequest("the content names one of event, endpoint, allDead")
        }
        let retry: WebhookRetry
        if object["allDead"] != nil {
            guard object["allDead"] == true else { throw .invalidRequest("allDead is not true") }
            retry = .allDead
        } else if object["event"] != nil {
            let text = try NativeBody.needed("event", in: object)
            guard let id = EventID(parsing: text) else { throw .invalidRequest("event is not the id of an event") }
            retry = .event(id)
        } else {
            retry = .endpoint(url: try await waiting(in: object))
        }
        let count = try await WebFailure.mapping(await endpoints?.database.retryWebhooks(retry, at: clock.now()) ?? 0)
        // No endpoint waits for it, and it was not given up.
        if case .event = retry, count == 0 { throw WebFailure(.webhookNotFound) }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("retried", Int64(count))
        writer.endObject()
        return responses.json(writer.bytes)
    }

    /// Sends one event to one endpoint and answers with the result.
    func test(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let object = try NativeBody.object(request)
        try NativeBody.require(object, toHoldOnly: ["endpoint"], "")
        let url = try endpoint(in: object)
        guard let endpoints else { throw WebFailure(.webhookNotFound) }
        let result: WebhookTestResult
        do throws(WebhookEndpoints.TestFailure) {
            result = try await endpoints.test(url)
        } catch {
            switch error {
            case .unknown: throw WebFailure(.webhookNotFound)
            case .busy: throw .tooManyRequests(retryAfter: Self.pause)
            case .store(let error): throw WebFailure(store: error)
            }
        }
        return responses.json(JSONWriter.encode(result, WebhookTestResult.fields(of: url, for: .api)))
    }

    /// One of this server, or of a client of the OpenID provider.
    private func waiting(in object: JSONObject) async throws(WebFailure) -> String {
        guard let url = object["endpoint"]?.stringValue, WebhookEndpoint.client(of: url) != nil else {
            return try endpoint(in: object)
        }
        let known = try await WebFailure.mapping(await endpoints?.database.webhookEndpoints() ?? [])
        guard known.contains(where: { $0.url.isExactly(url) }) else { throw WebFailure(.webhookNotFound) }
        return url
    }

    /// One that this server sends events to.
    private func endpoint(in object: JSONObject) throws(WebFailure) -> String {
        let url = try NativeBody.needed("endpoint", in: object, maximumSize: Self.longestURL)
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidRequest("endpoint is not an address")
        }
        guard let target = endpoints?.target(url) else { throw WebFailure(.webhookNotFound) }
        return target.url
    }
}
