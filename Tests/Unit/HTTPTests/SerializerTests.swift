import HTTP
import HTTPTypes
import Testing

private let date = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)

@Suite struct ResponseSerializerTests {
    private func head(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = HTTPFields(), _ framing: ResponseFraming = .none,
        _ connection: String? = nil
    ) -> String {
        var output: [UInt8] = []
        ResponseSerializer.appendHead(
            status: status, fields: fields, framing: framing, date: date, connection: connection, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func head_isWritten() {
        let text = head(.ok, [.contentType: "text/plain", .cacheControl: "no-store"], .length(42))
        #expect(
            text == """
                HTTP/1.1 200 OK\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Content-Type: text/plain\r
                Cache-Control: no-store\r
                Content-Length: 42\r
                \r

                """)
    }

    @Test(arguments: [
        (HTTPResponse.Status.noContent, "204 No Content"), (.seeOther, "303 See Other"),
        (.notModified, "304 Not Modified"),
        (.notFound, "404 Not Found"), (.internalServerError, "500 Internal Server Error"),
        (HTTPResponse.Status(code: 499), "499 "), (HTTPResponse.Status(code: 431), "431 "),
    ])
    func statusLine_hasCodeAndPhrase(_ status: HTTPResponse.Status, _ line: String) {
        #expect(head(status).hasPrefix("HTTP/1.1 " + line))
        #expect(!head(status).contains("Content-Length"))
    }

    @Test func framingAndConnection_areSetByUs() {
        var fields: HTTPFields = [
            .contentLength: "7", .transferEncoding: "gzip", .connection: "upgrade", .date: "x", .location: "/",
        ]
        fields[.keepAliveForTest] = "timeout=5"
        let text = head(.ok, fields, .chunked, "close")
        #expect(
            text.components(of: "\r\n") == [
                "HTTP/1.1 200 OK", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Location: /", "Transfer-Encoding: chunked",
                "Connection: close", "", "",
            ])
        #expect(
            head(.ok, fields, .untilClose, "keep-alive").hasSuffix("Location: /\r\nConnection: keep-alive\r\n\r\n"))
    }

    @Test(arguments: [0, 1, 9, 10, 11, 99, 100, 65_536, Int.max])
    func lengths_areDecimal(_ count: Int) {
        #expect(head(.ok, [:], .length(count)).contains("\r\nContent-Length: \(count)\r\n"))
    }

    @Test func splitValues_neverReachTheWire() throws {
        // The lenient initialiser is the one way to have other controls in a value; CR, LF and NUL not even so.
        let name = try #require(HTTPField.Name("X-A"))
        for value in ["a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\u{0}b"] {
            let fields = HTTPFields([
                HTTPField(name: name, lenientValue: Array(value.utf8)), HTTPField(name: name, value: value),
            ])
            let text = head(.ok, fields)
            #expect(text.components(of: "\r\n").count == 6)
            #expect(!text.contains("\r\nSet-Cookie"))
            #expect(!text.contains("\u{0}"))
        }
    }

    @Test func chunks_areFramed() {
        var output: [UInt8] = []
        ResponseSerializer.appendChunk(Array(repeating: 0x61, count: 17), into: &output)
        ResponseSerializer.appendChunk([], into: &output)
        ResponseSerializer.appendLastChunk(into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "11\r\naaaaaaaaaaaaaaaaa\r\n0\r\n\r\n")
        var decoder = BodyDecoder(framing: .chunked)
        var content: [UInt8] = []
        let used = try? decoder.decode(output.span, into: &content)
        #expect(used == output.count)
        #expect(decoder.isComplete)
        #expect(content.count == 17)
    }

    @Test func continueResponse_isAppended() {
        var output: [UInt8] = [0x61]
        ResponseSerializer.appendContinue(into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "aHTTP/1.1 100 Continue\r\n\r\n")
    }
}

@Suite struct RequestSerializerTests {
    @Test func head_isWrittenAndParsesAgain() throws {
        var output: [UInt8] = []
        try RequestSerializer.appendHead(
            method: .post, target: "/auth/token?a=b", host: "appleid.apple.com",
            fields: [.contentType: "application/x-www-form-urlencoded", .contentLength: "9", .userAgent: "Bramley"],
            contentLength: 5, into: &output)
        #expect(
            String(decoding: output, as: UTF8.self) == """
                POST /auth/token?a=b HTTP/1.1\r
                Host: appleid.apple.com\r
                Content-Type: application/x-www-form-urlencoded\r
                User-Agent: Bramley\r
                Content-Length: 5\r
                \r

                """)
        guard case .head(let head) = parseEveryWay(output) else {
            Issue.record("our own request is refused")
            return
        }
        #expect(head.framing == .length(5))
    }

    /// RFC 6265 §5.4. `HTTPFields` takes the value apart, for HTTP/2.
    @Test func cookies_areOneLine() throws {
        var several: HTTPFields = [.accept: "*/*"]
        several.append(HTTPField(name: .cookie, value: "a=1"))
        several.append(HTTPField(name: .userAgent, value: "Bramley"))
        several.append(HTTPField(name: .cookie, value: "b=2"))
        var split: HTTPFields = [.accept: "*/*"]
        split[.cookie] = "a=1; b=2"
        split[.userAgent] = "Bramley"
        for fields in [several, split] {
            var output: [UInt8] = []
            try RequestSerializer.appendHead(
                method: .get, target: "/", host: "h", fields: fields, contentLength: nil, into: &output)
            #expect(
                String(decoding: output, as: UTF8.self)
                    == "GET / HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nCookie: a=1; b=2\r\nUser-Agent: Bramley\r\n\r\n")
        }
    }

    @Test(
        arguments: [
            ("/a b", "h", "target"), ("/\r\n", "h", "target"), ("", "h", "target"), ("http://h/", "h", "target"),
            ("/#a", "h", "target"), ("/", "", "host"), ("/", "h\r\nA: b", "host"), ("/", "a b", "host"),
            ("/", "a/b", "host"),
        ])
    func injection_isRefusedAndNothingWritten(_ target: String, _ host: String, _ fault: String) {
        var output: [UInt8] = [1]
        #expect(throws: HTTPClientError.malformed("request: \(fault)")) {
            try RequestSerializer.appendHead(
                method: .get, target: target, host: host, fields: [:], contentLength: nil, into: &output)
        }
        #expect(output == [1])
    }
}

extension HTTPField.Name {
    fileprivate static var keepAliveForTest: HTTPField.Name { KnownField.keepAlive.name }
}

extension String {
    /// Split at every occurrence of `separator`.
    fileprivate func components(of separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
