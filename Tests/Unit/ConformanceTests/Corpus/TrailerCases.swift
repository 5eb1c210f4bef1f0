/// The trailer section: RFC 9112 §7.1.2; its allowed fields, RFC 9110 §6.5.
enum TrailerCases {
    static let all = shown + dropped + syntax

    /// Content `abc` and this trailer section.
    private static func text(_ lines: String, rest: String = "") -> String {
        Text.chunked("3\r\nabc\r\n0\r\n\(lines)\r\n\r\n\(rest)")
    }

    private static let shown: [WireCase] = [
        .heard("one", "9112 §7.1.2", text("A: b"), .post("abc", trailers: ["a: b"])),
        .heard("two", "9112 §7.1.2", text("A: b\r\nC: d"), .post("abc", trailers: ["a: b", "c: d"])),
        .heard("the same twice", "9110 §5.3", text("A: b\r\na: c"), .post("abc", trailers: ["a: b", "a: c"])),
        .heard("empty value", "9110 §5.5", text("A:"), .post("abc", trailers: ["a: "])),
        .heard("whitespace around", "9112 §5.1", text("A: \t b \t"), .post("abc", trailers: ["a: b"])),
        .heard("behind no content", "9112 §7.1.2", Text.chunked("0\r\nA: b\r\n\r\n"), .post(trailers: ["a: b"])),
        .heard(
            "a header field of that name stays", "9110 §6.5.1",
            Text.post("Transfer-Encoding: chunked\r\nA: b", "0\r\nA: c\r\n\r\n"),
            .post(trailers: ["a: c"], fields: ["transfer-encoding: chunked", "a: b"])),
        .heard(
            "announced", "9110 §6.6.2", Text.post("Trailer: A\r\nTransfer-Encoding: chunked", "0\r\nA: b\r\n\r\n"),
            .post(trailers: ["a: b"])),
        .heard(
            "announced and not sent", "9110 §6.6.2", Text.post("Trailer: A\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            .post()),
        .heard(
            "not announced", "9110 §6.6.2", Text.post("Trailer: B\r\nTransfer-Encoding: chunked", "0\r\nA: b\r\n\r\n"),
            .post(trailers: ["a: b"])),
        .heard(
            "of this request, not of the next", "9112 §7.1.2", text("A: b", rest: Text.smuggled),
            .post("abc", trailers: ["a: b"]), .get("/smuggled")),
        .heard(
            "digest", "9530 §6.4", text("Content-Digest: sha-256=:YWJj:"),
            .post("abc", trailers: ["content-digest: sha-256=:YWJj:"])),
    ]

    /// A name that has no business behind the content is left out, and one beside it stays.
    private static func drop(_ line: String, _ why: String = "9110 §6.5.1") -> WireCase {
        .heard(
            "dropped: \(line)", why, text("\(line)\r\nA: b", rest: Text.smuggled), .post("abc", trailers: ["a: b"]),
            .get("/smuggled"))
    }

    private static let dropped: [WireCase] = [
        // Framing.
        drop("Content-Length: 33"), drop("Transfer-Encoding: chunked"), drop("Transfer-Encoding: identity"),
        drop("Trailer: A"), drop("TE: trailers"),
        drop("content-length: x"), drop("Content-Length:"),
        // The connection and routing.
        drop("Connection: close", "9110 §7.6.1"), drop("Keep-Alive: timeout=1", "9110 §7.6.1"),
        drop("Upgrade: h2c", "9110 §7.8"), drop("Proxy-Connection: close", "9110 §7.6.1"), drop("Host: evil.example"),
        drop("Host: a b"), drop("Via: 1.1 a"), drop("Forwarded: for=192.0.2.1", "7239 §4"),
        drop("X-Forwarded-For: 192.0.2.1"), drop("X-Forwarded-Proto: https"), drop("X-Forwarded-Host: evil.example"),
        drop("X-Real-IP: 192.0.2.1"), drop("Max-Forwards: 1"),
        // Request modifiers.
        drop("Expect: 100-continue"), drop("Expect: nonsense"), drop("Range: bytes=0-1"), drop("If-Match: *"),
        drop("If-None-Match: *"), drop("If-Range: \"a\""), drop("Cache-Control: no-cache"), drop("Pragma: no-cache"),
        // Authentication.
        drop("Authorization: Bearer a"), drop("Proxy-Authorization: Basic YQ=="), drop("Cookie: a=b"),
        drop("Set-Cookie: a=b"),
        // The form of the content.
        drop("Content-Type: text/html"), drop("Content-Encoding: gzip"), drop("Content-Range: bytes 0-1/2"),
        drop("Content-Location: /a"),
        // Where it came from.
        drop("Origin: https://evil.example"), drop("Sec-Fetch-Site: same-origin"), drop("X-Original-URL: /admin"),
    ]

    private static let syntax: [WireCase] = [
        .refused("no colon", "9112 §5", text("A")),
        .refused("no name", "9112 §5", text(": b")),
        .refused("space before the colon", "9112 §5.1", text("A : b")),
        .refused("space within a name", "9110 §5.1", text("A B: c")),
        .refused("space first", "9112 §5.2", text(" A: b")),
        .refused("obs-fold", "9112 §5.2", text("A: b\r\n c")),
        .refused("obs-fold with a tab", "9112 §5.2", text("A: b\r\n\tc")),
        .refused("no token", "9110 §5.6.2", text("A@: b")),
        .refused("NUL", "9110 §5.5", text("A: \0")),
        .refused("control", "9110 §5.5", text("A: b\u{1b}")),
        .refused("DEL", "9110 §5.5", text("A: b\u{7f}")),
        .refused("obs-text in a name", "9110 §5.6.2", text("\u{e9}: b")),
        .refused("bare LF", "9112 §2.2", text("A: b\nC: d")),
        .refused("bare CR", "9112 §2.2", text("A: b\rC: d")),
        .refused("CR CR LF", "9112 §2.2", text("A: b\r\r\nC: d")),
        .refused("bare LF at the end", "9112 §2.2", Text.chunked("0\r\nA: b\n\n")),
        .refused("LF for the empty line", "9112 §2.2", Text.chunked("0\r\nA: b\r\n\n")),
        .refused("a request line", "9112 §5", text("GET /smuggled HTTP/1.1")),
        .refused("too long", "6585 §5", text("A: \(String(repeating: "b", count: 4096))"), 431),
        .refused("too many", "6585 §5", text((0...100).map { "A\($0): b" }.joined(separator: "\r\n")), 431),
        .waits("unfinished", "9112 §7.1.2", Text.chunked("0\r\nA: b\r\n")),
    ]
}
