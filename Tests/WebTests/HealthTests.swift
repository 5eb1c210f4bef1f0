import Coding
import HTTP
import HTTPTypes
import Sockets
import Testing
import Web

@Suite struct HealthTests {
    private func ask(
        _ path: String, _ fields: HTTPFields = HTTPFields(), live: [HealthCheck] = [], ready: [HealthCheck] = []
    ) async -> ServerResponse {
        let application = AdminApplication(liveness: { live }, readiness: { ready }, metrics: { [] })
        return await application.respond(
            to: ServerRequest(
                head: HTTPRequest(
                    method: .get, scheme: "http", authority: "localhost", path: path, headerFields: fields),
                path: path, query: nil, body: [], client: .v4(0x7F00_0001), isFromTrustedProxy: false))
    }

    @Test func aliveAndReadyAreDifferentQuestions() async {
        let stuck = HealthCheck("event_loops", problem: "event loop 1 does not turn")
        let full = HealthCheck("storage", problem: "disk full")
        let alive = await ask("/healthz", live: [HealthCheck("event_loops")], ready: [full])
        #expect(alive.status == .ok && alive.text == "ok\nevent_loops: ok\n")
        let dead = await ask("/healthz", live: [stuck], ready: [])
        #expect(dead.status == .serviceUnavailable)
        #expect(dead.text.hasPrefix("not alive: event loop 1 does not turn\n"))
        let ready = await ask("/readyz", live: [stuck], ready: [HealthCheck("storage")])
        #expect(ready.status == .ok && ready.text == "ready\nstorage: ok\n")
    }

    @Test func everyCheckHasItsLineAndItsReason() async {
        let checks = [
            HealthCheck("draining"), HealthCheck("storage", problem: "disk full"), HealthCheck("sealing_key"),
            HealthCheck("certificate", problem: "expired"),
        ]
        let response = await ask("/readyz", ready: checks)
        #expect(response.status == .serviceUnavailable)
        #expect(
            response.text == """
                not ready: disk full; expired
                draining: ok
                storage: disk full
                sealing_key: ok
                certificate: expired

                """)
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test(
        "JSON for who names it",
        arguments: [
            ("application/json", true), ("text/plain;q=0.5, Application/JSON ;q=0.9", true), ("*/*", false),
            ("text/html", false), ("application/json;q=0", false), ("application/jsonx", false),
        ])
    func json(accept: String, isJSON: Bool) async throws {
        let checks = [HealthCheck("storage", problem: "disk full"), HealthCheck("draining")]
        let response = await ask("/readyz", [.accept: accept], ready: checks)
        #expect(response.status == .serviceUnavailable)
        #expect((response.fields[.contentType] == "application/json") == isJSON)
        guard isJSON else { return }
        #expect(
            response.text == """
                {"status":"not ready","checks":[{"name":"storage","ok":false,"problem":"disk full"},\
                {"name":"draining","ok":true,"problem":null}]}
                """)
    }
}
