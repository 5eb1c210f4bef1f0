import AppleSimulator
import Coding
import HTTP
import HTTPTypes
import Loops
import Sockets
import Testing

/// The simulator over real sockets: what cannot be seen in memory.
@Suite struct SimulatorServerTests {
    /// A simulator and a client, each on their own loop, for the time of `body`.
    private func withSimulator<Value: Sendable>(
        _ body: @escaping @Sendable (HTTPClient, String) async throws -> Value
    ) async throws -> Value {
        let key = try #require(ClientKey(pem: ClientSecrets.publicKey))
        let server = try SimulatorServer(
            configuration: SimulatorConfiguration(
                serverURL: "http://localhost:1", servicesID: "com.example.web",
                team: SimulatorConfiguration.Team(id: "TEAM123456", keys: ["KEY1234567": key])),
            address: SocketAddress(ip: .v4(0x7f00_0001), port: 0))
        let origin = "http://127.0.0.1:\(server.address.port)"
        return try await onLoop { _, group in
            let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "test")
            // Begun on this loop: on the tests' own pool its start would wait for whatever computes there.
            async let serving: Void = server.run()
            let value: Value
            do {
                value = try await body(client, origin)
            } catch {
                server.stop()
                throw error
            }
            server.stop()
            try await serving
            return value
        }
    }

    private static func send(
        _ client: HTTPClient, _ method: HTTPRequest.Method, _ url: String, _ body: JSON? = nil, timeout: Int64 = 60_000
    ) async throws -> ClientResponse {
        let url = try #require(ClientURL(url))
        return try await client.send(
            ClientRequest(method: method, url: url, body: body?.bytes ?? [], timeout: timeout))
    }

    @Test func keysAreServed() async throws {
        let response = try await withSimulator { try await Self.send($0, .get, $1 + "/auth/keys") }
        #expect(response.status == .ok)
        #expect(JSON(parsing: response.body)?["keys"]?.arrayValue?.count == 3)
    }

    /// What a relying party compares its clock with. The connection is one, so the date kept for a second is as well.
    @Test func dateFollowsTheClock_WhenItIsMoved() async throws {
        let offsets: [Int64] = [0, 3600, -86_400, 10_000_000_000, -1_000_000_000, 0]
        let measured = try await withSimulator { client, origin -> [Int64?] in
            var measured: [Int64?] = []
            for offset in offsets {
                let body: JSON = ["offset": .integer(offset)]
                _ = try await Self.send(client, .put, origin + "/simulator/api/clock", body)
                let before = Simulator.systemTime() / 1000
                let date = try await Self.send(client, .get, origin + "/auth/keys").fields[.date]
                let after = Simulator.systemTime() / 1000
                let seconds = date.flatMap { HTTPDate.parse($0, now: after) }
                // The offset, when it lies between the two; what was measured, when not.
                measured.append(
                    seconds.map { (before + offset...after + offset).contains($0) ? offset : $0 - before })
            }
            return measured
        }
        #expect(measured == offsets)
    }

    struct Broken: Sendable {
        var fault: JSON
        var error: HTTPClientError
        /// Short only where the time must run out: a busy machine is not a failure.
        var timeout: Int64 { error == .timeout ? 300 : 60_000 }
    }

    @Test(arguments: [
        Broken(fault: ["close": "half"], error: .closed), Broken(fault: ["close": "start"], error: .closed),
        Broken(fault: ["hang": true], error: .timeout), Broken(fault: ["stall": true], error: .timeout),
        Broken(fault: ["body": "huge"], error: .tooLarge),
    ])
    func brokenAnswerBreaksTheExchange(_ broken: Broken) async throws {
        let caught = try await withSimulator { client, origin -> HTTPClientError? in
            _ = try await Self.send(client, .put, origin + "/simulator/api/faults/keys", broken.fault)
            do {
                _ = try await Self.send(client, .get, origin + "/auth/keys", timeout: broken.timeout)
                return nil
            } catch let error as HTTPClientError {
                return error
            }
        }
        #expect(caught == broken.error)
    }

    @Test func notificationIsDeliveredOverTheNetwork() async throws {
        let deliveries = try await withSimulator { client, origin -> JSON? in
            // There is no receiver here: the token endpoint answers that this is not a form.
            let path = "/simulator/api/notifications"
            _ = try await Self.send(
                client, .put, origin + "/simulator/api/behaviour",
                ["notificationURL": .string(origin + "/auth/token")])
            let answer = try await Self.send(
                client, .post, origin + path, ["type": "consent-revoked", "person": "ada"])
            return JSON(parsing: answer.body)?["deliveries"]
        }
        #expect(deliveries?.arrayValue?.first?["status"] == 400)
    }
}
