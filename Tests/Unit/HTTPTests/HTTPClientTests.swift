import HTTP
import HTTPTypes
import Loops
import Sockets
import Testing

/// The client against servers that misbehave as real ones do.
@Suite struct HTTPClientTests {
    /// What a scripted server does with one connection, after it has read a request head.
    enum Script: Sendable {
        case answer(String)
        /// Answers and closes.
        case answerAndClose(String)
        case silence
        /// One byte every few milliseconds, without end.
        case drip(String)
    }

    private static func run(
        _ script: Script, timeout: Int64 = 20_000, maximumBodySize: Int = 1000, requests: Int = 1,
        method: HTTPRequest.Method = .post, cutsLongBody: Bool = false
    ) async throws -> (results: [Result<ClientResponse, HTTPClientError>], connections: Int) {
        let connections = Counter()
        let results = try await onLoop(
            serving: { stream in
                connections.add()
                await play(script, on: stream)
            },
            { loop, group in
                let port = try listen(on: loop).port
                let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "test/1.0")
                let url = ClientURL(isSecure: false, host: "127.0.0.1", port: port, target: "/token")
                var request = ClientRequest(
                    method: method, url: url, body: Array("a=b".utf8), timeout: timeout,
                    maximumBodySize: maximumBodySize)
                request.cutsLongBody = cutsLongBody
                var results: [Result<ClientResponse, HTTPClientError>] = []
                for _ in 0..<requests {
                    do throws(HTTPClientError) {
                        results.append(.success(try await client.send(request)))
                    } catch {
                        results.append(.failure(error))
                    }
                }
                return results
            })
        return (results, connections.count)
    }

    private static func play(_ script: Script, on stream: SocketStream) async {
        stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 8192)
        var request: [UInt8] = []
        while let count = try? await stream.read(into: &buffer, at: 0), count > 0 {
            // One answer for each whole request, however many reads it takes.
            request.append(contentsOf: buffer[..<count])
            guard String(decoding: request, as: UTF8.self).hasSuffix("\r\n\r\na=b") else { continue }
            request = []
            switch script {
            case .answer(let text):
                guard (try? await stream.write(Array(text.utf8))) != nil else { return }
            case .answerAndClose(let text):
                try? await stream.write(Array(text.utf8))
                return
            case .silence:
                continue
            case .drip(let head):
                try? await stream.write(Array(head.utf8))
                while (try? await stream.write([65])) != nil {
                    guard await stream.loop.sleep(until: Deadline.now.adding(milliseconds: 5)) else { return }
                }
                return
            }
        }
    }

    /// A caller that needs only the status gets it, whatever follows, and the connection is not reused.
    @Test(
        "content beyond the bound can be cut off",
        arguments: [
            (
                .answer("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + String(repeating: "x", count: 1_001)),
                1_000, 2
            ),
            (.drip("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 1_001)), 1_000, 2),
            (.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 5, 1),
            (
                .answer("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1_000)),
                1_000, 1
            ),
        ] as [(Script, Int, Int)])
    func cutsLongBodies(script: Script, length: Int, connections: Int) async throws {
        let run = try await Self.run(script, requests: 2, cutsLongBody: true)
        for result in run.results { #expect(try result.get().body.count == length) }
        #expect(run.connections == connections)
    }

    @Test("content that ends early is a failure even if it may be cut off")
    func cutIsNotAnExcuse() async throws {
        let script = Script.answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")
        let run = try await Self.run(script, cutsLongBody: true)
        #expect(throws: HTTPClientError.closed) { try run.results[0].get() }
    }

    @Test(
        "errors have descriptions",
        arguments: [
            (.unknownHost("a.invalid"), "the name a.invalid does not resolve"),
            (.connect("\(StreamError.broken(111))"), "no connection: connection refused"),
            (.connect("\(StreamError.broken(113))"), "no connection: no route to host"),
            (.tls("certificate: certificate has expired"), "TLS failed: certificate: certificate has expired"),
            (.tls("\(StreamError.broken(104))"), "TLS failed: connection reset by peer"),
            (.inside, "the host has no public address, but was registered through the API"),
            (.timeout, "no complete answer in time"),
            (.closed, "the connection was closed before the answer was complete"),
            (.malformed("invalid status line"), "not an HTTP answer: invalid status line"),
            (.tooLarge, "the answer is too long"),
        ] as [(HTTPClientError, String)])
    func wordsOfErrors(error: HTTPClientError, words: String) {
        #expect("\(error)" == words)
    }

    @Test func connectionIsKeptForTheNextRequest_UnlessThePeerClosesIt() async throws {
        let (results, connections) = try await Self.run(
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), requests: 5)
        #expect(results.count == 5)
        for result in results { #expect(try result.get().body == Array("hi".utf8)) }
        #expect(connections == 1)
        let (others, more) = try await Self.run(
            .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), requests: 3)
        for result in others { #expect(try result.get().body == Array("hi".utf8)) }
        #expect(more == 3)
    }

    /// The peer may still read for a moment, as if another request were welcome, and answer nothing.
    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ])
    func newConnectionIsMade_WhenThePeerAnnouncedItsClose(answer: String) async throws {
        let (results, connections) = try await Self.run(.answer(answer), requests: 3)
        for result in results { #expect(try result.get().body.isEmpty) }
        #expect(connections == 3)
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        var name: String
        var script: Script
        var error: HTTPClientError
        var testDescription: String { name }
    }

    static let failures = [
        Failure(name: "silence", script: .silence, error: .timeout),
        Failure(
            name: "drip within bounds", script: .drip("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"), error: .timeout
        ),
        Failure(
            name: "announced too large", script: .answer("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"),
            error: .tooLarge),
        Failure(
            name: "chunked too large",
            script: .answer(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n\(String(repeating: "a", count: 1001))\r\n0\r\n\r\n"
            ),
            error: .tooLarge),
        Failure(
            name: "endless until close",
            script: .answer("HTTP/1.1 200 OK\r\n\r\n\(String(repeating: "a", count: 5000))"), error: .tooLarge),
        Failure(
            name: "endless head", script: .answer("HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 100_000))"),
            error: .tooLarge),
        Failure(name: "closed without a word", script: .answerAndClose(""), error: .closed),
        Failure(
            name: "closed half-way", script: .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
            error: .closed),
        Failure(
            name: "chunks cut",
            script: .answerAndClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
            error: .closed),
    ]

    @Test(arguments: failures) func failsInTime(_ test: Failure) async throws {
        // Short only where the time must run out: a busy machine is not a failure.
        let (results, _) = try await Self.run(test.script, timeout: test.error == .timeout ? 150 : 20_000)
        #expect(throws: test.error) { try results[0].get() }
    }

    @Test func notHTTPIsMalformed() async throws {
        let (results, _) = try await Self.run(.answer("<html>hello</html>\r\n\r\n"))
        guard case .failure(.malformed) = results[0] else {
            Issue.record("got \(results[0])")
            return
        }
    }

    @Test func redirectIsNotFollowed() async throws {
        let (results, connections) = try await Self.run(
            .answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"))
        #expect(try results[0].get().status == .found)
        #expect(connections == 1)
    }

    @Test(
        arguments: [
            (
                "https://appleid.apple.com/auth/token",
                ClientURL(isSecure: true, host: "appleid.apple.com", port: 443, target: "/auth/token")
            ),
            ("http://localhost:8080", ClientURL(isSecure: false, host: "localhost", port: 8080, target: "/")),
            ("https://[::1]:9/a?b", ClientURL(isSecure: true, host: "::1", port: 9, target: "/a?b")),
            ("https://a?b", ClientURL(isSecure: true, host: "a", port: 443, target: "/?b")),
            ("ftp://a/", nil), ("https://", nil), ("https://u@a/", nil), ("https://a/#f", nil), ("https://a:0/", nil),
            ("https://a:99999/", nil), ("https://a:/", nil), ("https://[::1]x/", nil),
        ] as [(String, ClientURL?)])
    func urlIsSplit(text: String, expected: ClientURL?) {
        #expect(ClientURL(text) == expected)
    }

    /// Written again, such a host had lost its brackets or kept one, and was another or none.
    @Test(arguments: ["https://[[1e1]", "https://[a]/", "https://[]/", "http://[192.0.2.1]:80/", "https://[::1%25a]/"])
    func bracketsHoldAnAddressOfIPv6(text: String) {
        #expect(ClientURL(text) == nil)
    }
}
