import HTTP
import HTTPTypes
import Testing

@Suite struct RequestLineTests {
    @Test func originForm_isTakenApart() throws {
        let head = try #require(accepted("GET /a/b%20c?x=1&y=?2 HTTP/1.1\r\nHost: h\r\n\r\n"))
        #expect(head.method == "GET")
        #expect(head.target == "/a/b%20c?x=1&y=?2")
        #expect(head.path == "/a/b%20c")
        #expect(head.query == "x=1&y=?2")
        #expect(head.authority == "h")
        #expect(head.minorVersion == 1)
    }

    @Test(
        arguments: [
            ("GET / HTTP/1.1", "/", nil), ("GET /? HTTP/1.1", "/", ""), ("GET /a?b HTTP/1.1", "/a", "b"),
            ("GET /?return_to={a|b}^`\\[] HTTP/1.1", "/", "return_to={a|b}^`\\[]"),
            ("OPTIONS * HTTP/1.1", "*", nil), ("GET //a HTTP/1.1", "//a", nil),
        ] as [(String, String, String?)])
    func targets_areAccepted(_ line: String, _ path: String, _ query: String?) throws {
        let head = try #require(accepted(line + "\r\nHost: h\r\n\r\n"))
        #expect(head.path == path)
        #expect(head.query == query)
    }

    @Test(
        arguments: [
            ("http://other:8080/p?q", "other:8080", "/p", "q"), ("HTTP://other/", "other", "/", nil),
            ("https://[::1]:1/x", "[::1]:1", "/x", nil), ("http://other", "other", "", nil),
            ("http://other?q", "other", "", "q"),
        ] as [(String, String, String, String?)])
    func absoluteForm_replacesHost(_ target: String, _ authority: String, _ path: String, _ query: String?) throws {
        let head = try #require(accepted("GET \(target) HTTP/1.1\r\nHost: named\r\n\r\n"))
        #expect(head.authority == authority)
        #expect(head.path == path)
        #expect(head.query == query)
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

    @Test func absoluteForm_stillNeedsHost() {
        #expect(refusal(of: "GET http://other/ HTTP/1.1\r\n\r\n") == .missingHost)
        #expect(refusal(of: "GET http://other/ HTTP/1.1\r\nHost: a b\r\n\r\n") == .invalidHost)
    }

    @Test(
        arguments: [
            ("GET /#f HTTP/1.1", .invalidTarget), ("GET /a#f HTTP/1.1", .invalidTarget),
            ("GET /?a#f HTTP/1.1", .invalidTarget), ("GET /\u{e9} HTTP/1.1", .invalidTarget),
            ("GET /?\u{e9} HTTP/1.1", .invalidTarget), ("GET /\t HTTP/1.1", .invalidTarget),
            ("GET /\u{0} HTTP/1.1", .invalidTarget), ("GET /\u{7f} HTTP/1.1", .invalidTarget),
            ("GET /a\\b HTTP/1.1", .invalidTarget), ("GET /<a> HTTP/1.1", .invalidTarget),
            ("GET /?\"a\" HTTP/1.1", .invalidTarget), ("GET  / HTTP/1.1", .invalidTarget),
            ("GET * HTTP/1.1", .invalidTarget), ("OPTIONS *x HTTP/1.1", .invalidTarget),
            ("OPTIONS *?x HTTP/1.1", .invalidTarget), ("GET a HTTP/1.1", .invalidTarget),
            ("GET ftp://h/ HTTP/1.1", .invalidTarget), ("GET http:// HTTP/1.1", .invalidTarget),
            ("GET http:///x HTTP/1.1", .invalidTarget), ("GET http://u@h/ HTTP/1.1", .invalidTarget),
            ("GET http://h:99999/ HTTP/1.1", .invalidTarget), ("GET ?a HTTP/1.1", .invalidTarget),
            ("GET / a HTTP/1.1", .invalidVersion), ("GET / HTTP/1.1 ", .invalidVersion),
            ("GET /  HTTP/1.1", .invalidVersion), ("GET / http/1.1", .invalidVersion),
            ("GET / HTTP/1", .invalidVersion), ("GET / HTTP/1.", .invalidVersion),
            ("GET / HTTP/1.10", .invalidVersion), ("GET / HTTP/11.1", .invalidVersion),
            ("GET / HTTP/a.1", .invalidVersion), ("GET / HTTP1.1", .invalidVersion),
            ("GET / RTSP/1.0", .invalidVersion), ("GET /", .invalidVersion), ("GET /?", .invalidVersion),
            ("GET / HTTP/2.0", .unsupportedVersion), ("PRI * HTTP/2.0", .unsupportedVersion),
            ("GET / HTTP/3.0", .unsupportedVersion), ("GET / HTTP/0.9", .unsupportedVersion),
            ("GET", .invalidMethod), (" GET / HTTP/1.1", .invalidMethod), ("G@T / HTTP/1.1", .invalidMethod),
            ("G\u{e9}T / HTTP/1.1", .invalidMethod), ("\u{16}\u{3}\u{1}", .invalidMethod),
            ("\tGET / HTTP/1.1", .invalidMethod), ("GET\t/ HTTP/1.1", .invalidMethod),
            ("CONNECT h:443 HTTP/1.1", .connectRefused), ("CONNECT / HTTP/1.1", .connectRefused),
        ] as [(String, WireError)])
    func lines_areRefusedPrecisely(_ line: String, _ error: WireError) {
        #expect(refusal(of: line + "\r\nHost: h\r\n\r\n") == error, "\(visible(line))")
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

    @Test func oneLeadingEmptyLine_isSkipped() throws {
        let head = try #require(accepted("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"))
        #expect(head.length == 29)
        #expect(head.method == "GET")
        #expect(refusal(of: "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n") == .invalidMethod)
    }

    @Test func higherMinorVersions_areTreatedAsOne() throws {
        let head = try #require(accepted("GET / HTTP/1.7\r\nHost: h\r\n\r\n"))
        #expect(head.minorVersion == 1)
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

    @Test func methodLongerThanAnyImplemented_is501() {
        let longest = String(repeating: "A", count: 32)
        #expect(accepted("\(longest) / HTTP/1.1\r\nHost: h\r\n\r\n")?.method == longest)
        #expect(refusal(of: "A\(longest)") == .methodTooLong)
        #expect(WireError.methodTooLong.status == 501)
    }
}
