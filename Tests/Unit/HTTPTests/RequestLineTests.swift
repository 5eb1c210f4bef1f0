import HTTP
import HTTPTypes
import Testing

@Suite struct RequestLineTests {
    @Test func originForm_isSplit() throws {
        let head = try #require(accepted("GET /a/b%20c?x=1&y=?2 HTTP/1.1\r\nHost: h\r\n\r\n"))
        #expect(head.method == "GET")
        #expect(head.target == "/a/b%20c?x=1&y=?2")
        #expect(head.path == "/a/b%20c")
        #expect(head.query == "x=1&y=?2")
        #expect(head.authority == "h")
        #expect(head.minorVersion == 1)
    }

    @Test func absoluteForm_saysWhetherItIsForHTTPS() throws {
        for (target, isForHTTPS) in [("https://h/", true), ("HTTPS://h/", true), ("http://h/", false), ("/", false)] {
            var parser = RequestParser()
            let bytes = Array("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
            _ = try parser.parse(bytes.span)
            #expect(parser.head.isForHTTPS == isForHTTPS)
            parser.reset()
            #expect(!parser.head.isForHTTPS)
        }
    }

    /// Which heads are good and which are not is in the table of ConformanceTests; here, what each mistake is called.
    @Test(
        "each mistake in a head has its own name",
        arguments: [
            ("G@T / HTTP/1.1", .invalidMethod), (String(repeating: "A", count: 33), .methodTooLong),
            ("CONNECT h:443 HTTP/1.1", .connectRefused), ("GET /a#f HTTP/1.1", .invalidTarget),
            ("GET / HTTP/1.10", .invalidVersion), ("GET / HTTP/2.0", .unsupportedVersion),
            ("GET / HTTP/1.1\r\nA: b\nC: d", .bareLineFeed), ("GET / HTTP/1.1\r\nA: b\rC: d", .bareCarriageReturn),
            ("GET / HTTP/1.1\r\n: b", .emptyFieldName), ("GET / HTTP/1.1\r\nA@: b", .invalidFieldName),
            ("GET / HTTP/1.1\r\nA : b", .spaceBeforeColon), ("GET / HTTP/1.1\r\nA: b\r\n c", .obsoleteFolding),
            ("GET / HTTP/1.1\r\nA: b\u{0}c", .invalidFieldValue), ("GET / HTTP/1.1\r\nHost: a", .duplicateHost),
            ("GET / HTTP/1.1\r\nConnection: a b", .invalidConnection),
            ("POST / HTTP/1.1\r\nContent-Length: +5", .invalidContentLength),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5", .duplicateContentLength),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
                .contentLengthWithTransferEncoding
            ),
            ("POST / HTTP/1.1\r\nContent-Length: 9223372036854775807", .bodyTooLarge),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip", .invalidTransferEncoding),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip", .unknownTransferCoding),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked", .transferEncodingOnHTTP10),
            ("POST / HTTP/1.1\r\nExpect: 200-ok", .unsupportedExpectation),
        ] as [(String, WireError)])
    func lines_areRefusedPrecisely(_ lines: String, _ error: WireError) {
        #expect(refusal(of: lines + "\r\nHost: h\r\n\r\n") == error, "\(visible(lines))")
    }

    @Test func host_isNamedWhenMissingOrInvalid() {
        #expect(refusal(of: "GET / HTTP/1.1\r\n\r\n") == .missingHost)
        #expect(refusal(of: "GET / HTTP/1.1\r\nHost: a b\r\n\r\n") == .invalidHost)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\n", "GET /\n", "GET /?a\n", "GET / HTTP/1\n", "GET\n", "GET / HT\n", "\n",
        "GET / HTTP/1.1\r\n\n",
    ])
    func bareLineFeeds_areRefusedAtOnce(_ text: String) {
        #expect(refusal(of: text) == .bareLineFeed, "\(visible(text))")
    }

    @Test(arguments: ["GET / HTTP/1.1\rX", "\rG", "GET / HTTP/1.1\r\nHost: h\rX", "GET / HTTP/1.1\r\nHost: h\r\n\rX"])
    func bareCarriageReturns_areRefusedAtOnce(_ text: String) {
        #expect(refusal(of: text) == .bareCarriageReturn, "\(visible(text))")
    }

    @Test func methods_areCaseSensitiveTokens() {
        var parser = RequestParser()
        for (text, method) in [
            ("GET", RequestMethod.get), ("get", .other), ("HEAD", .head), ("POST", .post), ("PUT", .put),
            ("DELETE", .delete), ("OPTIONS", .options), ("PATCH", .patch), ("TRACE", .trace), ("BREW", .other),
            ("PROPFIND", .other), ("M-SEARCH", .other), ("GETGETGETGET", .other),
        ] {
            let bytes = Array("\(text) / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
            let length = try? parser.parse(bytes.span)
            #expect(length == bytes.count)
            #expect(parser.head.method == method, "\(text)")
            #expect(parser.head.httpMethod(in: bytes.span).rawValue == text)
            parser.reset()
        }
    }
}
