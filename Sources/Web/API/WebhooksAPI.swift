import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/api/v1/webhooks`: the state of deliveries to applications, and a way to repeat them.
struct WebhooksAPI: Sendable {
    let responses: WebResponses
    /// Nil where webhooks are not handled: then there are none.
    let endpoints: WebhookEndpoints?
    let database: Database
    let clock: any WallClock

    /// Seconds after which a test that was refused because of another may be sent.
    private static let pause = 15
    /// The size of an address in bytes; configured ones are far shorter.
    private static let longestURL = 2_048

    func list(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let now = clock.now()
        let found = try await WebFailure.mapping(await endpoints?.database.webhookEndpoints() ?? [])
        return try await responses.list(found, next: nil, route: "/api/v1/webhooks") { endpoint, writer in
            WebhookDocument.write(
                endpoint, kinds: endpoints?.target(endpoint.url)?.kinds, at: now, for: .api, to: &writer)
        }
    }

    func deadLetters(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        let query = try APIQuery(request, names: ["limit", "after"])
        let limit = try query.limit()
        var place: DeadWebhookPlace?
        if let text = query["after"] {
            place = PageCursor.deadWebhook(text)
            if place == nil { throw .invalidRequest("after is not a cursor of this list") }
        }
        // One more than requested tells whether there is another page.
        let found = try await WebFailure.mapping(
            await endpoints?.database.deadWebhooks(after: place, limit: limit + 1) ?? [])
        let page = found.prefix(limit)
        return try await responses.list(
            Array(page), next: found.count > limit ? page.last.map { PageCursor.encode($0.place) } : nil,
            route: "/api/v1/webhooks/dead-letters"
        ) { WebhookDocument.write($0, for: .api, to: &$1) }
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
        if case .event = retry, count == 0 { throw .webhookNotFound }
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
        guard let endpoints else { throw .webhookNotFound }
        let result: WebhookTestResult
        do throws(WebhookEndpoints.TestFailure) {
            result = try await endpoints.test(url)
        } catch {
            switch error {
            case .unknown: throw .webhookNotFound
            case .busy: throw .tooManyRequests(retryAfter: Self.pause)
            }
        }
        try await WebFailure.mapping(
            await database.record(.webhookTested, user: nil, object: WebhookRequest.origin(of: url), at: clock.now()))
        var writer = JSONWriter()
        WebhookDocument.write(result, to: url, for: .api, to: &writer)
        return responses.json(writer.bytes)
    }

    /// One of this server, or of a client of the OpenID provider.
    private func waiting(in object: JSONObject) async throws(WebFailure) -> String {
        guard let url = object["endpoint"]?.stringValue, WebhookEndpoint.client(of: url) != nil else {
            return try endpoint(in: object)
        }
        let known = try await WebFailure.mapping(await endpoints?.database.webhookEndpoints() ?? [])
        guard known.contains(where: { $0.url.isExactly(url) }) else { throw .webhookNotFound }
        return url
    }

    /// One that this server sends events to.
    private func endpoint(in object: JSONObject) throws(WebFailure) -> String {
        let url = try NativeBody.needed("endpoint", in: object, maximumSize: Self.longestURL)
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidRequest("endpoint is not an address")
        }
        guard let target = endpoints?.target(url) else { throw .webhookNotFound }
        return target.url
    }
}
