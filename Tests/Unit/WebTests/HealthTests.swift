import Coding
import Crypto
import HTTP
import HTTPTypes
import Sockets
import Testing
import Web

@testable import Accounts

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
        let stuck = HealthCheck("event_loops", problem: "event loop 1 is not responding")
        let full = HealthCheck("storage", problem: "disk full")
        let alive = await ask("/healthz", live: [HealthCheck("event_loops")], ready: [full])
        #expect(alive.status == .ok && alive.text == "ok\nevent_loops: ok\n")
        let dead = await ask("/healthz", live: [stuck], ready: [])
        #expect(dead.status == .serviceUnavailable)
        #expect(dead.text.hasPrefix("not alive: event loop 1 is not responding\n"))
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

    @Test func aWarningLeavesTheServerReady() async {
        let checks = [HealthCheck("storage"), HealthCheck("notifications", warning: "they will be refused")]
        let text = await ask("/readyz", ready: checks)
        #expect(text.status == .ok)
        #expect(text.text == "ready\nstorage: ok\nnotifications: warning: they will be refused\n")
        let json = await ask("/readyz", [.accept: "application/json"], ready: checks)
        #expect(json.status == .ok)
        #expect(
            json.text.hasSuffix(
                #"{"name":"notifications","ok":true,"problem":null,"warning":"they will be refused"}]}"#))
    }

    @Test func onlyAPassGetsTheProof() async throws {
        let key = SealingKeyring(current: SealingKey(material: SecretBytes([UInt8](repeating: 7, count: 32))))
        let other = SealingKeyring(current: SealingKey(material: SecretBytes([UInt8](repeating: 8, count: 32))))
        let now = Timestamp(seconds: 1_767_323_045)
        let application = AdminApplication(
            liveness: { [] }, readiness: { [] }, metrics: { [] },
            proof: { InspectionPass.answer(to: $0, with: key, at: now) })
        func proof(of passes: String...) async -> String? {
            var fields = HTTPFields()
            for pass in passes { fields.append(HTTPField(name: Inspection.field, value: pass)) }
            return await application.respond(
                to: ServerRequest(
                    head: HTTPRequest(
                        method: .get, scheme: "http", authority: "localhost", path: "/readyz", headerFields: fields),
                    path: "/readyz", query: nil, body: [], client: .v4(0x7F00_0001), isFromTrustedProxy: false)
            ).fields[Inspection.field]
        }
        let pass = InspectionPass.make(with: key, at: now)
        let answer = try #require(await proof(of: pass))
        #expect(InspectionPass.isAnswer(answer, to: pass, with: key))
        #expect(!InspectionPass.isAnswer(answer, to: InspectionPass.make(with: key, at: now), with: key))
        #expect(!InspectionPass.isAnswer(answer, to: pass, with: other))
        // A stranger who sends back what they were sent shows nothing.
        #expect(!InspectionPass.isAnswer(pass, to: pass, with: key))
        #expect(await proof() == nil)
        #expect(await proof(of: "ready") == nil)
        #expect(await proof(of: pass, pass) == nil)
        #expect(await proof(of: InspectionPass.make(with: other, at: now)) == nil)
        #expect(await proof(of: InspectionPass.make(with: key, at: now.adding(seconds: -301))) == nil)
    }

    @Test(
        "JSON is sent on request",
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
                {"status":"not ready","checks":[{"name":"storage","ok":false,"problem":"disk full","warning":null},\
                {"name":"draining","ok":true,"problem":null,"warning":null}]}
                """)
    }
}
