import Foundation
import Glibc
import Testing

/// In a process of its own, since it takes the descriptors away.
@Suite struct ProcessWithoutDescriptors {
    @Test func exhaustedDescriptorsNeitherSpinNorEndTheServer() async throws {
        let place = try ServerPlace(drainTimeout: 2)
        let server = try place.launch(prefix: ["/bin/bash", "-c", "ulimit -n 64 && exec \"$@\"", "bash"])
        @Sendable func connect(timeout: Int) throws -> WireConnection {
            try WireConnection(port: 8080, on: place.address, timeout: timeout)
        }
        try await eventually("it listens") {
            if let ending = server.ending { throw SiteError("bramley serve ended: \(ending)") }
            return (try? connect(timeout: 2)) != nil
        }
        try await blocking {
            let request = "GET /auth/verify HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"
            // Whoever is in the middle of a request makes no room.
            let begun =
                "POST /apple/callback HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 10\r\n"
                + "Expect: 100-continue\r\n\r\n"
            var held: [WireConnection] = []
            var turnedAway = 0
            for _ in 0..<120 where turnedAway < 5 {
                guard let connection = try? connect(timeout: 2) else { continue }
                connection.send(begun)
                if let more = try? connection.receive(atLeast: 12), more.starts(with: "HTTP/1.1 100".utf8) {
                    held.append(connection)
                } else {
                    turnedAway += 1
                }
            }
            #expect(held.count >= 10)
            #expect(held.count < 64)
            #expect(turnedAway == 5)
            // Those who came in are served all along.
            let first = try #require(held.first)
            #expect(first.send("0123456789"))
            #expect(try (400..<500).contains(first.response().status))
            // No spinning while nothing can be accepted: a spin costs all the time there is.
            let waiting = try connect(timeout: 1)
            let (before, start) = (try cpuTime(of: server), ContinuousClock.now)
            _ = try? waiting.receive()
            _ = try? connect(timeout: 1).receive()
            #expect(try cpuTime(of: server) - before < (ContinuousClock.now - start) / 3)
            // Room again, and it is used.
            held.removeAll()
            var status: Int?
            for _ in 0..<20 where status != 401 {
                let connection = try connect(timeout: 2)
                connection.send(request)
                status = try? connection.response().status
            }
            #expect(status == 401)
            // Whoever waits for a next request does: a crowd of them keeps nobody out.
            var waiters: [WireConnection] = []
            var answered = 0
            for _ in 0..<100 {
                guard let connection = try? connect(timeout: 2) else { continue }
                connection.send(request)
                if (try? connection.response().status) == 401 { answered += 1 }
                waiters.append(connection)
            }
            #expect(answered > 64)
        }
        // And the log says why a connection was closed.
        try await eventually("the log says so") {
            server.output.contains(/connections closed: limit reached.*descriptors\W+[1-9]/)
        }
        server.signal(SIGTERM)
        #expect(await server.waitUntilEnded(within: .seconds(60)) == StartAndStopTests.clean)
    }
}

/// User and system time a process has used so far (proc(5)).
private func cpuTime(of process: ChildProcess) throws -> Duration {
    let text = try String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
    let fields = text.components(separatedBy: ") ").last?.split(separator: " ").map(String.init) ?? []
    guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { throw SiteError(text) }
    return .milliseconds((user + system) * 10)
}
