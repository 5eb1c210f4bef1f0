import HTTP
import Testing

@Suite struct RequestFramingTests {
    private func post(_ lines: String, version: String = "1.1") -> String {
        "POST / HTTP/\(version)\r\nHost: h\r\n" + lines + "\r\n\r\n"
    }

    @Test(
        arguments: [
            ("A: b", .none), ("Content-Length: 0", .none), ("Content-Length: 5", .length(5)),
            ("Content-Length:5 ", .length(5)), ("Content-Length: 0005", .length(5)),
            ("Transfer-Encoding: chunked", .chunked), ("transfer-encoding: Chunked", .chunked),
        ] as [(String, BodyFraming)])
    func framing_isFound(_ lines: String, _ framing: BodyFraming) throws {
        #expect(try #require(accepted(post(lines))).framing == framing)
    }

    @Test(
        arguments: [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5", .contentLengthWithTransferEncoding),
            ("Content-Length: 0\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
            ("Content-Length: 5\r\nContent-Length: 6", .duplicateContentLength),
            ("Content-Length: 5\r\nContent-Length: 5", .duplicateContentLength),
            ("Content-Length: 5, 5", .invalidContentLength), ("Content-Length: 5,6", .invalidContentLength),
            ("Content-Length:", .invalidContentLength), ("Content-Length: +5", .invalidContentLength),
            ("Content-Length: -5", .invalidContentLength), ("Content-Length: 0x5", .invalidContentLength),
            ("Content-Length: 5a", .invalidContentLength), ("Content-Length: 5 5", .invalidContentLength),
            ("Content-Length: 5.0", .invalidContentLength), ("Content-Length: \u{663}", .invalidContentLength),
            ("Content-Length: 99999999999999999999", .invalidContentLength),
            ("Content-Length: 9223372036854775808", .invalidContentLength),
            ("Content-Length: 9223372036854775807", .bodyTooLarge),
            ("Transfer-Encoding:", .invalidTransferEncoding), ("Transfer-Encoding: ,", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked,", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked, chunked", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked, gzip", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked, identity", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked;q=1", .invalidTransferEncoding),
            ("Transfer-Encoding: \"chunked\"", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", .invalidTransferEncoding),
            ("Transfer-Encoding: chu nked", .invalidTransferEncoding),
            ("Transfer-Encoding: gzip", .unknownTransferCoding),
            ("Transfer-Encoding: identity", .unknownTransferCoding),
            ("Transfer-Encoding: gzip, chunked", .unknownTransferCoding),
            ("Transfer-Encoding: xchunked", .unknownTransferCoding),
            ("Transfer-Encoding: chunkedx", .unknownTransferCoding),
            ("Expect: 200-ok", .unsupportedExpectation), ("Expect: 100-continue, x", .unsupportedExpectation),
            ("Connection: a b", .invalidConnection), ("Connection: close;x", .invalidConnection),
        ] as [(String, WireError)])
    func ambiguity_isRefused(_ lines: String, _ error: WireError) {
        #expect(refusal(of: post(lines)) == error)
    }

    @Test func transferEncodingOnHTTP10_isRefused() {
        #expect(refusal(of: post("Transfer-Encoding: chunked", version: "1.0")) == .transferEncodingOnHTTP10)
    }

    @Test(arguments: [
        ("1.1", "A: b", true), ("1.1", "Connection: close", false), ("1.1", "Connection: Keep-Alive", true),
        ("1.1", "Connection: CLOSE", false), ("1.1", "Connection: x, close , y", false),
        ("1.1", "Connection: keep-alive, close", false), ("1.1", "Connection: ,, close", false),
        ("1.1", "Connection: x\r\nConnection: close", false), ("1.1", "Connection: closed", true),
        ("1.0", "A: b", false), ("1.0", "Connection: keep-alive", true), ("1.0", "Connection: x, Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false), ("1.1", "Connection:", true),
    ])
    func persistence_followsVersionAndConnection(_ version: String, _ lines: String, _ keepAlive: Bool) throws {
        #expect(try #require(accepted(post(lines, version: version))).keepAlive == keepAlive)
    }

    @Test(arguments: [
        ("1.1", "Expect: 100-continue\r\nContent-Length: 5", true),
        ("1.1", "Expect: 100-Continue\r\nTransfer-Encoding: chunked", true),
        ("1.1", "Expect: 100-continue", false), ("1.1", "Expect: 100-continue\r\nContent-Length: 0", false),
        ("1.0", "Expect: 100-continue\r\nContent-Length: 5", false), ("1.0", "Expect: other", false),
    ])
    func expectation_countsWithContentOnHTTP11(_ version: String, _ lines: String, _ expects: Bool) throws {
        #expect(try #require(accepted(post(lines, version: version))).expectsContinue == expects)
    }

    @Test func nothingOfOneRequest_isLeftInTheNext() throws {
        var parser = RequestParser()
        let first = Array(
            "POST http://a/x?y HTTP/1.0\r\nHost: b\r\nContent-Length: 5\r\nConnection: close\r\nA: b\r\n\r\n".utf8)
        _ = try parser.parse(first.span)
        parser.reset()
        let second = Array("GET /z HTTP/1.1\r\nHost: c\r\n\r\n".utf8)
        let length = try #require(try parser.parse(second.span))
        let fresh = parse(second, ends: [second.count])
        #expect(fresh == .head(ParsedRequest(parser.head, second, length: length)))
    }
}
