/// Messages: RFC 9113 §8, and the limits they share with HTTP/1.1.
extension HTTP2Case {
    // MARK: §8.1, §8.2

    private static func field(_ name: String, _ value: String, _ outcome: HTTP2Outcome = .streamError(1, 1))
        -> HTTP2Case
    {
        HTTP2Case(
            "8.2", "\(name.debugDescription): \(value.debugDescription)",
            H2.headers(1, H2.request("GET", "/", [(name, value)])), outcome)
    }

    private static func trailers(_ fields: [(String, String)], ends: Bool = true) -> [UInt8] {
        H2.post(1) + H2.data(1, "a") + H2.headers(1, fields, ends: ends)
    }

    static let messages: [HTTP2Case] = [
        HTTP2Case("8.1", "a trailer section", trailers([("a", "b")]), .response(1, 200)),
        HTTP2Case("8.1", "an empty one", trailers([]), .response(1, 200)),
        HTTP2Case("8.1", "one that does not end the request", trailers([("a", "b")], ends: false), malformed),
        HTTP2Case("8.1", "one behind no content", H2.post(1) + H2.headers(1, [("a", "b")]), .response(1, 200)),
        HTTP2Case("8.1", "DATA behind it", trailers([("a", "b")]) + H2.data(1, "a"), streamClosed),
        HTTP2Case(
            "8.1", "a second request on the stream", H2.post(1) + H2.headers(1, H2.request(), ends: true), malformed),
        HTTP2Case("8.1", "a pseudo-field in it", trailers([(":path", "/")]), malformed),
        HTTP2Case("8.1", "upper case in it", trailers([("A", "b")]), malformed),
        HTTP2Case("8.1", "a line break in it", trailers([("a", "b\r\nc: d")]), malformed),
        HTTP2Case("8.1", "a connection field in it", trailers([("transfer-encoding", "chunked")]), malformed),
        HTTP2Case(
            "8.1.1", "content-length too small", H2.post(1, [("content-length", "1")]) + H2.data(1, "ab", ends: true),
            malformed),
        HTTP2Case(
            "8.1.1", "content-length too large", H2.post(1, [("content-length", "3")]) + H2.data(1, "ab", ends: true),
            malformed),
        HTTP2Case(
            "8.1.1", "content-length too large, trailers",
            H2.post(1, [("content-length", "3")]) + H2.data(1, "ab") + H2.headers(1, [("a", "b")]), malformed),
        HTTP2Case(
            "8.1.1", "content-length over several frames",
            H2.post(1, [("content-length", "4")]) + H2.data(1, "ab") + H2.data(1, "cd", ends: true), .response(1, 200)),
        HTTP2Case(
            "8.1.1", "content-length and none", H2.headers(1, H2.request("POST", "/", [("content-length", "3")])),
            malformed),
        HTTP2Case(
            "8.1.1", "content-length 0 and none", H2.headers(1, H2.request("POST", "/", [("content-length", "0")])),
            .response(1, 200)),
        HTTP2Case(
            "8.1.1", "content-length 0 and some", H2.post(1, [("content-length", "0")]) + H2.data(1, "a", ends: true),
            malformed),
        HTTP2Case(
            "8.1.1", "content-length no number", H2.post(1, [("content-length", "+1")]) + H2.data(1, "a", ends: true),
            .response(1, 400)),
        HTTP2Case(
            "8.1.1", "content-length a list", H2.post(1, [("content-length", "1, 1")]) + H2.data(1, "a", ends: true),
            .response(1, 400)),
        HTTP2Case(
            "8.1.1", "content-length twice",
            H2.post(1, [("content-length", "1"), ("content-length", "1")]) + H2.data(1, "a", ends: true),
            .response(1, 400)),
        HTTP2Case(
            "8.1.1", "content-length beyond 64 bits",
            H2.post(1, [("content-length", "18446744073709551617")]) + H2.data(1, "a", ends: true), .response(1, 400)),
        field("a", "b", .response(1, 200)), field("A", "b"), field("aB", "c"), field("", "b"), field("a b", "c"),
        field("a:", "b"),
        field("a:b", "c"), field(" a", "b"), field("a\r\nb", "c"), field("a\u{0}", "b"), field("\u{e9}", "b"),
        field("a(", "b"),
        field("a", "", .response(1, 200)), field("a", "b\rc"), field("a", "b\nc"), field("a", "b\r\nc: d"),
        field("a", "b\u{0}c"),
        field("a", "b\u{1}"), field("a", "b\u{7f}"), field("a", " b"), field("a", "b "), field("a", "\tb"),
        field("a", "b\t"),
        field("a", "b\tc d", .response(1, 200)), field("a", "\u{e9}", .response(1, 200)), field("a", " "),
        field("connection", "close"), field("connection", "keep-alive"), field("keep-alive", "timeout=5"),
        field("proxy-connection", "keep-alive"), field("transfer-encoding", "chunked"),
        field("transfer-encoding", "identity"),
        field("upgrade", "h2c"), field("te", "trailers", .response(1, 200)), field("te", "gzip"),
        field("te", "trailers, gzip"),
        field("expect", "something", .response(1, 417)), field("expect", "100-continue", .response(1, 200)),
    ]

    // MARK: §8.3

    private static func with(_ name: String, _ fields: [(String, String)], _ outcome: HTTP2Outcome = .streamError(1, 1))
        -> HTTP2Case
    {
        HTTP2Case("8.3", name, H2.headers(1, fields), outcome)
    }

    private static func without(_ names: String...) -> [(String, String)] {
        H2.request().filter { !names.contains($0.0) }
    }

    static let pseudo: [HTTP2Case] = [
        with("no :method", without(":method")), with("no :scheme", without(":scheme")),
        with("no :path", without(":path")),
        with("none", [("a", "b")]), with("no field at all", []),
        with(":method twice", H2.request() + [(":method", "GET")]),
        with(":scheme twice", H2.request() + [(":scheme", "http")]),
        with(":path twice", H2.request() + [(":path", "/")]),
        with(":authority twice", H2.request() + [(":authority", "localhost")]),
        with("an unknown one", H2.request() + [(":test", "a")]), with(":status", H2.request() + [(":status", "200")]),
        with("upper case", H2.request() + [(":Path", "/")]), with("a colon alone", H2.request() + [(":", "/")]),
        with("after a field", [("a", "b")] + H2.request()),
        with("one after a field", without(":path") + [("a", "b"), (":path", "/")]),
        with("an empty :method", without(":method") + [(":method", "")]),
        with(":method with a space", without(":method") + [(":method", "GET /x")]),
        with(":method with a line break", without(":method") + [(":method", "GET\r\n")]),
        with(":method no token", without(":method") + [(":method", "G(T")], .response(1, 400)),
        with("another :method", without(":method") + [(":method", "PURGE")], .response(1, 200)),
        with(
            "a :method of 33 letters", without(":method") + [(":method", String(repeating: "A", count: 33))],
            .response(1, 501)),
        with("an empty :scheme", without(":scheme") + [(":scheme", "")]),
        with("another :scheme", without(":scheme") + [(":scheme", "ftp")]),
        with(":scheme https", without(":scheme") + [(":scheme", "https")], .response(1, 200)),
        with("the order of pseudo-fields", Array(H2.request().reversed()), .response(1, 200)),
        HTTP2Case(
            "8.5", "CONNECT", H2.headers(1, [(":method", "CONNECT"), (":authority", "localhost:443")], ends: false),
            .response(1, 501)),
        HTTP2Case("8.5", "CONNECT with :path", H2.headers(1, H2.request("CONNECT"), ends: false), malformed),
        HTTP2Case("8.5", "CONNECT without :authority", H2.headers(1, [(":method", "CONNECT")], ends: false), malformed),
        HTTP2Case(
            "8.5", "RFC 8441 :protocol",
            H2.headers(1, H2.request("CONNECT") + [(":protocol", "websocket")], ends: false), malformed),
    ]

    private static func path(_ path: String, _ outcome: HTTP2Outcome = .streamError(1, 1)) -> HTTP2Case {
        with(":path \(path.debugDescription)", H2.request("GET", path), outcome)
    }

    private static func authority(
        _ authority: String?, host: [String] = [], _ outcome: HTTP2Outcome = .streamError(1, 1)
    ) -> HTTP2Case {
        let pseudo = authority.map { [(":authority", $0)] } ?? []
        return with(
            "\(authority ?? "none") and \(host)", without(":authority") + pseudo + host.map { ("host", $0) }, outcome)
    }

    static let targets: [HTTP2Case] = [
        path(""), path("a"), path("a/b"), path("*/"), path("http://localhost/"), path("?a"), path("/ "), path("/a b"),
        path("/ HTTP/1.1"), path("/\r\na: b"), path("/\u{0}"), path("/\t"), path("/\u{e9}"),
        path("/a?b c"), path("/#a", .response(1, 400)), path("/\"", .response(1, 400)), path("/<", .response(1, 400)),
        path("*", .response(1, 400)), path("/%zz", .response(1, 200)), path("//a", .response(1, 200)),
        path("/a?b=?c", .response(1, 200)),
        path("/a?b|c^d", .response(1, 200)),
        with("OPTIONS *", H2.request("OPTIONS", "*"), .response(1, 200)),
        authority("localhost", .response(1, 200)), authority(nil, .response(1, 400)), authority("", .response(1, 400)),
        authority(nil, host: ["localhost"], .response(1, 200)), authority(nil, host: ["a", "b"], .response(1, 400)),
        authority("localhost", host: ["localhost"], .response(1, 200)),
        authority("localhost", host: ["LOCALHOST"], .response(1, 200)),
        authority("localhost", host: ["elsewhere"]), authority("localhost", host: [""]),
        authority("localhost", host: ["localhost", "localhost"], .response(1, 400)),
        authority("user@localhost", .response(1, 400)), authority("user:secret@localhost", .response(1, 400)),
        authority("localhost/a", .response(1, 400)), authority("localhost:99999", .response(1, 400)),
        authority("localhost:", .response(1, 200)),
        authority("[::1]:80", .response(1, 200)), authority("[127.0.0.1]", .response(1, 400)), authority("a b"),
        authority("a\r\nb: c"),
        authority("a,b", .response(1, 400)), authority("a%62", .response(1, 400)),
    ]

    // MARK: Limits, as HTTP/1.1 has them

    static let limits: [HTTP2Case] = [
        // `GET ` and ` HTTP/1.1` and the line break are of the line.
        with("the longest path", H2.request("GET", "/" + String(repeating: "a", count: 8192 - 16)), .response(1, 200)),
        with("one longer", H2.request("GET", "/" + String(repeating: "a", count: 8192 - 15)), .response(1, 414)),
        // Fields are counted as lines: `name: value` and a line break.
        with(
            "as much as fields may hold",
            H2.request("GET", "/", [("a", String(repeating: "b", count: 16_384 - 2 - 17 - 5))]), .response(1, 200)),
        with(
            "one byte more", H2.request("GET", "/", [("a", String(repeating: "b", count: 16_384 - 2 - 17 - 4))]),
            .response(1, 431)),
        with("a hundred fields", H2.request("GET", "/", (0..<99).map { ("a\($0)", "b") }), .response(1, 200)),
        with("one more", H2.request("GET", "/", (0..<100).map { ("a\($0)", "b") }), .response(1, 431)),
        with(
            "crumbs are one field", H2.request("GET", "/", (0..<200).map { _ in ("cookie", "a=b") }), .response(1, 200)),
        HTTP2Case(
            "8.1", "as much content as may be",
            H2.post(1) + (0..<4).flatMap { H2.data(1, count: 16_384, ends: $0 == 3) }, .response(1, 200)),
        HTTP2Case(
            "8.1", "one byte more",
            H2.post(1) + (0..<4).flatMap { _ in H2.data(1, count: 16_384) } + H2.data(1, "a", ends: true),
            .response(1, 413)),
        HTTP2Case("8.1", "more announced", H2.post(1, [("content-length", "65537")]), .response(1, 413)),
        HTTP2Case(
            "8.1", "a trailer section that is too large", trailers([("a", String(repeating: "b", count: 4096))]),
            .response(1, 431)),
        HTTP2Case("8.1", "too many trailer fields", trailers((0..<101).map { ("a\($0)", "b") }), .response(1, 431)),
    ]
}
