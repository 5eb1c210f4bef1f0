import HTTP
import HTTPTypes
import Sockets
import Synchronization
import Testing

/// The server over real sockets: what arrives on the wire, byte for byte.
@Suite struct ServerConnectionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var request: String
        var response: String
        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "GET", request: "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", response: echoed("GET /a?b=c ")),
        Case(
            name: "POST with a length", request: "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
            response: echoed("POST /p abc")),
        Case(
            name: "POST in chunks",
            request:
                "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: v\r\n\r\n",
            response: echoed("POST /p abc")),
        Case(
            name: "HEAD has no body",
            request: "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n",
            response: String(echoed("HEAD /a ").dropLast(8))),
        Case(
            name: "204 has no body and no length", request: "GET /204 HTTP/1.1\r\nHost: x\r\n\r\n",
            response: "HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n"),
        Case(
            name: "HTTP/1.0 is closed", request: "GET /a HTTP/1.0\r\n\r\n",
            response: echoed("GET /a ", keepAlive: false)),
        Case(
            name: "HTTP/1.0 keep-alive is said", request: "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            response: echoed("GET /a ", extra: "Connection: keep-alive\r\n")),
        Case(
            name: "Connection: close", request: "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            response: echoed("GET /a ", keepAlive: false)),
        Case(
            name: "stream", request: "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
            response: "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"),
        Case(
            name: "stream to HTTP/1.0", request: "GET /stream HTTP/1.0\r\n\r\n",
            response: "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: close\r\n\r\none two three"
        ),
        Case(
            name: "stream that breaks off has no last chunk", request: "GET /cut HTTP/1.1\r\nHost: x\r\n\r\n",
            response: "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4\r\npart\r\n"),
    ]

    @Test(arguments: cases) func wholeResponse(_ test: Case) async throws {
        let answer = try await withServer { try await $0.exchange([test.request]) }
        #expect(answer == test.response)
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let count = 1000
        let requests = (0..<count).map { "POST /n\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi" }.joined()
        let answer = try await withServer { try await $0.exchange([requests]) }
        #expect(answer == (0..<count).map { echoed("POST /n\($0) hi") }.joined())
    }

    @Test(arguments: [
        ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: x\r\nCookie: \(String(repeating: "a", count: 20_000))\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    ])
    func tooLargeHeadGetsThePage(_ request: String, _ status: Int) async throws {
        var configuration = HTTPServerConfiguration()
        configuration.largeHeadPage = ServerResponse(
            status: .ok, fields: [.contentType: "text/html"], body: .bytes(Array("<p>too large".utf8)))
        let answer = try await withServer(configuration: configuration) {
            try await $0.exchange([request], halfClose: false)
        }
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.hasSuffix("<p>too large") == (status != 400))
    }

    @Test func slowHeadGets408_AndSilenceIsJustClosed() async throws {
        // Long enough that what is sent at once has come; all four wait at the same time.
        let answers = try await withServer(
            configuration: HTTPServerConfiguration {
                $0.timeouts.header = 2000
                $0.timeouts.body = 2000
                $0.timeouts.idle = 2000
                $0.timeouts.parkAfter = 20
            }
        ) { peer in
            async let head = peer.exchange(["GET / HTTP/1.1\r\nHo"], halfClose: false)
            async let body = peer.exchange(
                ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"], halfClose: false)
            async let silence = peer.exchange([""], halfClose: false)
            async let answered = peer.exchange(["GET /a HTTP/1.1\r\nHost: x\r\n\r\n"], halfClose: false)
            return try await [head, body, silence, answered]
        }
        #expect(answers[0].hasPrefix("HTTP/1.1 408 "))
        #expect(answers[1].hasPrefix("HTTP/1.1 408 "))
        #expect(answers[2].isEmpty)
        #expect(answers[3] == echoed("GET /a "))
    }

    @Test func parkedConnectionServesItsNextRequest() async throws {
        let answer = try await withServer(configuration: HTTPServerConfiguration { $0.timeouts.parkAfter = 5 }) {
            peer in
            let stream = try await peer.connect()
            for number in 0..<3 {
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 15))
                try await stream.write(Array("GET /\(number) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
                if number < 2 { _ = try await readResponse(from: stream) }
            }
            stream.shutdownWrite()
            return await peer.readAll(stream)
        }
        #expect(answer == echoed("GET /2 "))
    }

    @Test func requestInFlightIsAnswered_WhenTheServerDrains() async throws {
        let answer = try await withServer { peer in
            let stream = try await peer.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
            // The head is with the server before draining begins.
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 20))
            peer.group.beginDrain()
            try await stream.write(Array("bc".utf8))
            return await peer.readAll(stream)
        }
        #expect(answer == echoed("POST /p abc", keepAlive: false))
    }

    @Test func requestThatArrivedBeforeDrainingIsAnswered() async throws {
        let answer = try await withServer { peer in
            let stream = try await peer.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            peer.group.beginDrain()
            return await peer.readAll(stream)
        }
        #expect(answer == echoed("GET /a ", keepAlive: false))
    }

    /// Browsers open connections in advance. One that never sent a byte must not hold up the end until its deadline.
    @Test func connectionThatNeverSentAnythingEnds_WhenTheServerDrains() async throws {
        let (answer, milliseconds) = try await withServer { peer in
            let stream = try await peer.connect()
            // The server has taken the connection before draining begins.
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 20))
            let start = ContinuousClock.now
            peer.group.beginDrain()
            let answer = await peer.readAll(stream)
            return (answer, (ContinuousClock.now - start) / .milliseconds(1))
        }
        #expect(answer.isEmpty)
        #expect(milliseconds < 9000)
    }
}
