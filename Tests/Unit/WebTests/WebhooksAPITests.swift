import Coding
import HTTP
import HTTPTypes
import Stores
import Synchronization
import Testing
import Web

@testable import Accounts

/// `/api/v1/webhooks`.
@Suite struct WebhooksAPITests {
    private let site: Site

    init() throws { site = try Site() }

    private func post(_ site: Site, _ path: String, _ body: String, _ scope: APIScope = .webhooksWrite) async
        -> ServerResponse
    {
        var fields = site.bearer(site.makeKey([scope]))
        fields[.contentType] = "application/json"
        return await site.send(.post, "/api/v1/webhooks/" + path, fields, body: body)
    }

    @Test func listsEndpointsWithTheirFilters() async throws {
        let answer = await site.get("/api/v1/webhooks", site.bearer(site.makeKey([.webhooksRead])))
        #expect(answer.items.map { $0["url"]?.stringValue } == [FakeWebhooks.one, FakeWebhooks.two])
        #expect(answer.items.map { $0["events"] } == [["user.created"], ["account.deleted"]])
        #expect(answer.items.first?["state"] == "ok")
        #expect(answer.json?["next"]?.isNull == true)
    }

    @Test func pagesDeadLetters() async throws {
        let letters = try await site.makeDeadLetters(5)
        let key = site.bearer(site.makeKey([.webhooksRead]))
        var seen: [String] = []
        var cursor: String?
        repeat {
            let page = await site.get(
                "/api/v1/webhooks/dead-letters?limit=2" + (cursor.map { "&after=\($0)" } ?? ""), key)
            seen += page.items.compactMap { $0["id"]?.stringValue }
            cursor = page.next
        } while cursor != nil && seen.count < 20
        #expect(seen == letters)
    }

    @Test("a retry covers all dead letters, one event, or an endpoint")
    func retries() async throws {
        let letters = try await site.makeDeadLetters(3)
        func dead() async -> [String] {
            await site.get("/api/v1/webhooks/dead-letters", site.bearer(site.makeKey([.webhooksRead]))).items.compactMap
            { $0["id"]?.stringValue }
        }
        #expect(await post(site, "retry", #"{"endpoint":"https://audit.example/in"}"#).text == #"{"retried":0}"#)
        #expect(await post(site, "retry", #"{"event":"\#(letters[1])"}"#).text == #"{"retried":1}"#)
        #expect(await dead() == [letters[0], letters[2]])
        #expect(await post(site, "retry", #"{"allDead":true}"#).text == #"{"retried":2}"#)
        #expect(await dead().isEmpty)
    }

    @Test(
        arguments: [
            ("{}", 400), (#"{"allDead":false}"#, 400), (#"{"allDead":"true"}"#, 400), ("[]", 400), ("", 400),
            (#"{"allDead":true,"event":"evt_00000000000000000000000001"}"#, 400), (#"{"event":"evt_1"}"#, 400),
            (#"{"event":null}"#, 400), (#"{"endpoint":7}"#, 400), (#"{"all":true}"#, 400),
            (#"{"allDead":true,"allDead":true}"#, 400),
            (#"{"endpoint":"https://elsewhere.example/"}"#, 404), (#"{"endpoint":"https://app.example/"}"#, 404),
            // Known, and nobody waits for it.
            (#"{"event":"evt_00000000000000000000000001"}"#, 404),
        ])
    func refusesARetry(body: String, status: Int) async throws {
        let answer = await post(site, "retry", body)
        #expect(answer.status.code == status)
        #expect(answer.code == (status == 404 ? "webhook_not_found" : "invalid_request"))
    }

    @Test func sendsATestAndReportsItsResult() async throws {
        let taken = await post(site, "test", #"{"endpoint":"https://app.example/hook"}"#)
        #expect(taken.json?["delivered"] == true && taken.json?["status"] == 204)
        #expect(taken.json?["failure"]?.isNull == true)
        site.webhooks.state.withLock { $0.answer = .failure("connection refused") }
        let lost = await post(site, "test", #"{"endpoint":"https://audit.example/in"}"#)
        #expect(lost.json?["delivered"] == false && lost.json?["status"]?.isNull == true)
        // How it failed would tell what this machine reaches.
        #expect(lost.json?["failure"] == "not reached")
        let sent = site.webhooks.state.withLock { $0.sent }
        #expect(sent.map(\.url) == [FakeWebhooks.one, FakeWebhooks.two])
        #expect(sent.map(\.id) == [taken, lost].map { $0.json?["id"]?.stringValue })
        // Nothing is sent anywhere else: the API is not a way to make requests of this server's.
        for url in ["https://elsewhere.example/", "http://127.0.0.1:9090/", "https://app.example/hook?x"] {
            let refused = await post(site, "test", #"{"endpoint":"\#(url)"}"#)
            #expect(refused.status.code == 404)
        }
        #expect(site.webhooks.state.withLock { $0.sent.count } == 2)
    }

    @Test func aStoreThatFailsIs503() async throws {
        let key = site.bearer(site.makeKey([.webhooksRead]))
        _ = await site.get("/api/v1/webhooks", key)
        site.database.faults.fail(at: "webhook_")
        #expect(await site.get("/api/v1/webhooks", key).status.code == 503)
        #expect(await post(site, "retry", #"{"allDead":true}"#).status.code == 503)
    }
}
