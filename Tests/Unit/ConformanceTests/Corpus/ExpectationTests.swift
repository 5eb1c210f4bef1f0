import HTTP
import Sockets
import Testing

/// `Expect: 100-continue` as a client sees it that waits before it sends the content (RFC 9110 §10.1.1).
@Suite struct ExpectationTests {
    private static let interim = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Sends a head, reads what comes for it, then sends the content.
    private static func converse(
        _ head: String, then content: String, configuration: HTTPServerConfiguration = HTTPServerConfiguration()
    ) async throws -> (first: String, rest: [Answer]) {
        try await withEcho(configuration: configuration) { peer in
            let stream = try await peer.connect()
            defer { stream.close() }
            try await stream.write(Array(head.utf8))
            var buffer = [UInt8](repeating: 0, count: 16_384)
            var count = 0
            // One head, in as many pieces as it comes in.
            while count < 4 || buffer[count - 4..<count] != ArraySlice("\r\n\r\n".utf8) {
                let more = try await stream.read(into: &buffer, at: count)
                if more == 0 { break }
                count += more
            }
            let first = String(decoding: buffer[..<count], as: UTF8.self)
            guard first == interim else { return (first, []) }
            try await stream.write(Array(content.utf8))
            return (first, try AnswerReader.read(try await peer.readAll(stream)))
        }
    }

    private static func post(_ lines: String, version: String = "1.1") -> String {
        Text.post("Connection: close\r\n" + lines, version: version)
    }

    @Test(arguments: [
        ("Expect: 100-continue\r\nContent-Length: 3", "abc"),
        ("Content-Length: 3\r\nexpect: 100-CONTINUE", "abc"),
        ("Expect: 100-continue\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ])
    func waitingClientGets100_AndThenItsAnswer(_ lines: String, _ content: String) async throws {
        let (first, rest) = try await Self.converse(Self.post(lines), then: content)
        #expect(first == Self.interim)
        #expect(rest.map(\.status) == [200])
        #expect(try AnswerReader.understood(rest.first?.content ?? []).body == "abc")
    }

    /// The final status comes instead of the interim one, not behind it.
    @Test(arguments: [
        ("Expect: 100-continue\r\nContent-Length: 11", 413), ("Expect: pigeons\r\nContent-Length: 3", 417),
        ("Expect: 100-continue\r\nContent-Length: 3\r\nContent-Length: 3", 400),
        ("Expect: 100-continue\r\nTransfer-Encoding: gzip, chunked", 501),
    ])
    func refusedClientGetsNo100(_ lines: String, _ status: Int) async throws {
        let configuration = HTTPServerConfiguration { $0.limits.body = 10 }
        let (first, _) = try await Self.converse(Self.post(lines), then: "", configuration: configuration)
        #expect(first.hasPrefix("HTTP/1.1 \(status) "))
    }

    /// RFC 9110 §15.2: a client of HTTP/1.0 knows no interim responses.
    @Test func clientOfHTTP10GetsNo100() async throws {
        let answers = try await withEcho { peer in
            let head = Text.post("Expect: 100-continue\r\nContent-Length: 3", version: "1.0")
            return try AnswerReader.read(try await peer.exchange([Array(head.utf8), Array("abc".utf8)]))
        }
        #expect(answers.map(\.status) == [200])
    }

    /// That the pieces of the other tests are read one by one shows in this one: the head has come alone.
    @Test func piecesArriveSeparately() async throws {
        let answers = try await withEcho { peer in
            let head = Self.post("Expect: 100-continue\r\nContent-Length: 3")
            return try AnswerReader.read(try await peer.exchange([Array(head.utf8), Array("abc".utf8)]))
        }
        #expect(answers.map(\.status) == [100, 200])
    }
}

/// RFC 9110 §9.3.2: a HEAD is never answered with content, not even where it is refused.
@Suite struct HeadRefusalTests {
    @Test(arguments: [
        "HEAD / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HEAD https://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
    ])
    func refusalHasNoContent(_ text: String) async throws {
        let bytes = try await withEcho { try await $0.exchange([Array(text.utf8)]) }
        let answers = try AnswerReader.read(bytes, heads: [0])
        #expect(answers.count == 1)
        #expect((400...499).contains(answers.first?.status ?? 0))
    }

    /// A line that is not a request line yet says nothing.
    @Test func refusalOfTheLineItselfHasContent() async throws {
        let bytes = try await withEcho { try await $0.exchange([Array("HEAD / HTTP/x\r\n\r\n".utf8)]) }
        #expect(try AnswerReader.read(bytes).first?.content.isEmpty == false)
    }
}

/// RFC 9110 §7.4: what is for `https` is answered where TLS has ended.
@Suite struct MisdirectedRequestTests {
    private static let text = "GET https://h/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

    @Test func httpsIsAnsweredOverTLSOnly() async throws {
        let bytes = try await withEcho { try await $0.exchange([Array(Self.text.utf8)]) }
        #expect(try AnswerReader.read(bytes).map(\.status) == [421])
        let secured = try await withSecureEcho { try await $0.exchange([Array(Self.text.utf8)]) }
        #expect(try AnswerReader.read(secured).map(\.status) == [200])
    }

    @Test func aTrustedProxyMayAskForIt() async throws {
        let proxies = TrustedProxies([try #require(IPNetwork("127.0.0.0/8"))])
        let bytes = try await withEcho(configuration: HTTPServerConfiguration { $0.trustedProxies = proxies }) {
            try await $0.exchange([Array(Self.text.utf8)])
        }
        let answers = try AnswerReader.read(bytes)
        #expect(answers.map(\.status) == [200])
        #expect(try AnswerReader.understood(answers.first?.content ?? []).target == "/a")
    }
}
