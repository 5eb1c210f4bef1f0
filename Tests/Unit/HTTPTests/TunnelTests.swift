import Certificates
import HTTP
import HTTPTypes
import Loops
import Sockets
import Synchronization
import Testing

/// The client through a proxy that is asked with CONNECT. The proxy of these tests is at the other end of the tunnel
/// itself: behind its answer it is the server.
@Suite struct TunnelTests {
    /// What the proxy does with each connection, when it has read a head.
    enum Script: Sendable {
        /// This answer, and nothing more.
        case answer(String)
        case answerAndClose(String)
        /// This to the first bytes, whatever they are, and the end.
        case answerToAnything(String)
        /// This answer, then TLS as `apple.test`, and "inside" for every request.
        case tunnel(String)
    }

    private struct Outcome: Sendable {
        var results: [Result<String, HTTPClientError>] = []
        /// The heads that the proxy read, and whatever came after them without TLS.
        var heads: [String] = []
    }

    private final class Recorder: Sendable {
        private let storage = Mutex(Outcome())
        var outcome: Outcome { storage.withLock { $0 } }
        func record(head: String) { storage.withLock { $0.heads.append(head) } }
        func record(_ result: Result<String, HTTPClientError>) { storage.withLock { $0.results.append(result) } }
    }

    private static func run(
        _ script: Script, url: String = "https://apple.test/token", credentials: String = "ada:hush@",
        exceptions: String = "", timeout: Int64 = 20_000, requests: Int = 1
    ) async throws -> Outcome {
        let server = try TLSContext.server(
            certificate: try TestCertificates.pem("good"), privateKey: try TestCertificates.privateKey("good"))
        let trust = try TLSContext.client(trusting: "\(try TestCertificates.folder())/ca.pem")
        let recorder = Recorder()
        try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                await play(script, on: stream, server, recorder)
                stream.close()
            },
            { loop, group in
                let port = try listen(on: loop).port
                let proxy = try ProxySettings(environment: [
                    "HTTPS_PROXY": "http://\(credentials)127.0.0.1:\(port)", "NO_PROXY": exceptions,
                ])
                let client = HTTPClient(group: group, tls: trust, userAgent: "test/1.0", proxy: proxy)
                for _ in 0..<requests {
                    recorder.record(await send(url.replacing("PORT", with: "\(port)"), timeout, through: client))
                }
            })
        return recorder.outcome
    }

    private static func send(
        _ url: String, _ timeout: Int64, through client: HTTPClient
    ) async -> Result<String, HTTPClientError> {
        guard let url = ClientURL(url) else { return .failure(.malformed("url")) }
        let request = ClientRequest(method: .post, url: url, body: Array("secret=1".utf8), timeout: timeout)
        do throws(HTTPClientError) {
            return .success(String(decoding: try await client.send(request).body, as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    private static func play(
        _ script: Script, on stream: SocketStream, _ server: TLSContext, _ recorder: Recorder
    ) async {
        if case .answerToAnything(let text) = script {
            var buffer = [UInt8](repeating: 0, count: 8192)
            let count = (try? await stream.read(into: &buffer, at: 0)) ?? 0
            recorder.record(head: String(decoding: buffer[..<count], as: UTF8.self))
            try? await stream.write(Array(text.utf8))
            return
        }
        guard let head = await readHead(stream) else { return }
        recorder.record(head: head)
        switch script {
        case .answer(let text):
            try? await stream.write(Array(text.utf8))
            // What a client says into a tunnel that it was refused.
            if let more = await readHead(stream) { recorder.record(head: more) }
        case .answerAndClose(let text), .answerToAnything(let text):
            try? await stream.write(Array(text.utf8))
        case .tunnel(let text):
            try? await stream.write(Array(text.utf8))
            guard (try? await stream.startTLS(server, serverName: nil)) != nil else { return }
            while await readHead(stream) != nil {
                try? await stream.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside".utf8))
            }
        }
    }

    /// Up to the empty line, with what was sent along; nil when nothing came.
    private static func readHead(_ stream: SocketStream) async -> String? {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 8192)
        while let count = try? await stream.read(into: &buffer, at: 0), count > 0 {
            all.append(contentsOf: buffer[..<count])
            if String(decoding: all, as: UTF8.self).contains("\r\n\r\n") { break }
        }
        return all.isEmpty ? nil : String(decoding: all, as: UTF8.self)
    }

    private static let connect =
        "CONNECT apple.test:443 HTTP/1.1\r\nHost: apple.test:443\r\nUser-Agent: test/1.0\r\n"
        + "Proxy-Authorization: Basic YWRhOmh1c2g=\r\n\r\n"

    @Test(
        "requests go through a tunnel, which is kept",
        arguments: [
            "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
            // RFC 9110 §9.3.6: of a tunnel's answer these mean nothing.
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 Fine\r\nVia: 1.1 p\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func succeeds(answer: String) async throws {
        let outcome = try await Self.run(.tunnel(answer), requests: 3)
        #expect(outcome.results == [.success("inside"), .success("inside"), .success("inside")])
        #expect(outcome.heads == [Self.connect])
    }

    @Test(
        arguments: [
            ("", nil), ("ada@", "YWRhOg=="), ("%C3%A4:%3A@", "w6Q6Og=="), ("a:bcd@", "YTpiY2Q="),
        ] as [(String, String?)])
    func credentialsAreSentAsBasic(credentials: String, sent: String?) async throws {
        let outcome = try await Self.run(.tunnel("HTTP/1.1 200 OK\r\n\r\n"), credentials: credentials)
        #expect(outcome.results == [.success("inside")])
        let line = outcome.heads[0].split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization:") }
        #expect(line.map(String.init) == sent.map { "Proxy-Authorization: Basic " + $0 })
    }

    /// The server behind the proxy must be the one the URL names.
    @Test func serverIsVerifiedThroughTheTunnel() async throws {
        let outcome = try await Self.run(.tunnel("HTTP/1.1 200 OK\r\n\r\n"), url: "https://other.test/")
        guard case .failure(.tls(let cause)) = outcome.results[0] else {
            Issue.record("got \(outcome.results)")
            return
        }
        #expect(cause.contains("hostname mismatch"))
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        var name: String
        var script: Script
        var failure: TunnelFailure
        var testDescription: String { name }
    }

    static let failures = [
        Failure(
            name: "wants credentials",
            script: .answer("HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"),
            failure: .refused(407)),
        Failure(name: "forbids", script: .answer("HTTP/1.1 403 No\r\n\r\nno"), failure: .refused(403)),
        Failure(name: "does not reach it", script: .answer("HTTP/1.1 502 Bad\r\n\r\n"), failure: .refused(502)),
        Failure(
            name: "sends us elsewhere", script: .answer("HTTP/1.1 302 F\r\nLocation: /\r\n\r\n"), failure: .refused(302)
        ),
        Failure(name: "hangs", script: .answer(""), failure: .timeout),
        Failure(name: "hangs half-way", script: .answer("HTTP/1.1 200 OK\r\nVia: "), failure: .timeout),
        Failure(name: "closes", script: .answerAndClose(""), failure: .closed),
        Failure(name: "closes half-way", script: .answerAndClose("HTTP/1.1 200 OK\r\n"), failure: .closed),
        Failure(
            name: "speaks something else", script: .answer("SSH-2.0-x\r\n"), failure: .malformed("invalid status line")),
        Failure(
            name: "answers at length",
            script: .answer("HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 100_000))"), failure: .tooLarge),
        // Taken for the server's, they would be somebody else's words.
        Failure(name: "sends more than its answer", script: .answer("HTTP/1.1 200 OK\r\n\r\nx"), failure: .earlyBytes),
        Failure(
            name: "sends content", script: .answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            failure: .earlyBytes),
    ]

    @Test(arguments: failures) func failureIsReported(_ test: Failure) async throws {
        let outcome = try await Self.run(test.script, timeout: test.failure == .timeout ? 150 : 20_000)
        #expect(outcome.results == [.failure(.proxy(test.failure))])
        // The request itself, and what is secret in it, never left.
        #expect(outcome.heads == [Self.connect])
    }

    @Test func missingProxyIsReported() async throws {
        // Closed with its loop.
        let address = try await onLoop { loop, _ in try listen(on: loop) }
        let url = "http://127.0.0.1:\(address.port)"
        let result = try await onLoop { _, group in
            let client = HTTPClient(
                group: group, tls: try TLSContext.client(), userAgent: "t",
                proxy: try ProxySettings(environment: ["HTTPS_PROXY": url]))
            return await Self.send("https://apple.test/", 5000, through: client)
        }
        #expect(result == .failure(.proxy(.connect("connection refused"))))
    }

    /// These come to the listener itself, as a request and not as a CONNECT.
    @Test(arguments: ["http://127.0.0.1:PORT/a", "http://localhost:PORT/a"])
    func plainHTTPIsSentDirectly(url: String) async throws {
        let outcome = try await Self.run(.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), url: url)
        #expect(outcome.results == [.success("hi")])
        #expect(outcome.heads.first?.hasPrefix("POST /a HTTP/1.1\r\n") == true)
    }

    @Test func exceptedHostIsReachedDirectly() async throws {
        let outcome = try await Self.run(
            .answerToAnything("no TLS"), url: "https://localhost:PORT/", exceptions: "unrelated.example")
        // A ClientHello, no CONNECT: the proxy is not asked.
        #expect(outcome.heads.allSatisfy { !$0.hasPrefix("CONNECT") })
        guard case .failure(.tls) = outcome.results[0] else {
            Issue.record("got \(outcome.results)")
            return
        }
    }

    @Test(
        arguments: [
            (.refused(407), "the proxy does not accept the credentials of HTTPS_PROXY (status 407)"),
            (.refused(502), "the proxy refused to connect: status 502"), (.timeout, "the proxy did not answer in time"),
            (.unknownHost("p"), "the proxy's name p does not resolve"),
            (.connect("connection refused"), "no connection to the proxy: connection refused"),
        ] as [(TunnelFailure, String)])
    func failuresHaveDescriptions(failure: TunnelFailure, words: String) {
        #expect("\(HTTPClientError.proxy(failure))" == words)
    }
}
