/// Where the content ends: RFC 9112 §6, `Content-Length` RFC 9110 §8.6.
enum FramingCases {
    static let all = lengths + codings + both + methods

    private static let lengths: [WireCase] = [
        .heard("none", "9112 §6.3", Text.post("A: b"), .post()),
        .heard("0", "9110 §8.6", Text.post("Content-Length: 0"), .post()),
        .heard("3", "9110 §8.6", Text.post("Content-Length: 3", "abc"), .post("abc")),
        .heard("name in any case", "9110 §5.1", Text.post("cOnTeNt-LeNgTh: 3", "abc"), .post("abc")),
        .heard("whitespace around", "9112 §5.1", Text.post("Content-Length: \t3 \t", "abc"), .post("abc")),
        .heard("leading zeros", "9110 §8.6", Text.post("Content-Length: 003", "abc"), .post("abc")),
        .heard(
            "leading zeros are not octal", "9110 §8.6", Text.post("Content-Length: 010", "0123456789"),
            .post("0123456789")),
        .heard("many zeros", "9110 §8.6", Text.post("Content-Length: 000000000000000000000000000", ""), .post()),
        .heard("line breaks are content", "9112 §6.2", Text.post("Content-Length: 4", "\r\n\r\n"), .post("\r\n\r\n")),
        .heard(
            "a request is content", "9112 §6.2", Text.post("Content-Length: 37", "\(Text.smuggled)ab"),
            .post("\(Text.smuggled)ab")),
        .heard(
            "every byte is content", "9112 §6.2", Text.post("Content-Length: 6", "\0\n\r\u{7f}\u{80}\u{ff}"),
            .post("\0\n\r\u{7f}\u{80}\u{ff}")),
        .heard(
            "the next request follows", "9112 §6.2", Text.post("Content-Length: 2", "ab\(Text.smuggled)"), .post("ab"),
            .get("/smuggled")),
        .heard("and none if 0", "9112 §6.2", Text.post("Content-Length: 0", Text.smuggled), .post(), .get("/smuggled")),
        .heard(
            "empty line behind the content", "9112 §2.2", Text.post("Content-Length: 2", "ab\r\n\(Text.smuggled)"),
            .post("ab"), .get("/smuggled")),
        .waits("too little content", "9112 §6.3", Text.post("Content-Length: 4", "abc")),
        .waits("no content", "9112 §6.3", Text.post("Content-Length: 1")),
        .refused("empty", "9110 §8.6", Text.post("Content-Length:", Text.smuggled)),
        .refused("blank", "9110 §8.6", Text.post("Content-Length: \t ", Text.smuggled)),
        .refused("plus sign", "9110 §8.6", Text.post("Content-Length: +3", "abc")),
        .refused("minus sign", "9110 §8.6", Text.post("Content-Length: -3", "abc")),
        .refused("minus zero", "9110 §8.6", Text.post("Content-Length: -0")),
        .refused("hexadecimal", "9110 §8.6", Text.post("Content-Length: 0x3", "abc")),
        .refused("octal", "9110 §8.6", Text.post("Content-Length: 0o3", "abc")),
        .refused("hexadecimal digit", "9110 §8.6", Text.post("Content-Length: a", "0123456789")),
        .refused("letter behind", "9110 §8.6", Text.post("Content-Length: 3a", "abc")),
        .refused("letters", "9110 §8.6", Text.post("Content-Length: three", "abc")),
        .refused("underscore", "9110 §8.6", Text.post("Content-Length: 1_0", "0123456789")),
        .refused("fraction", "9110 §8.6", Text.post("Content-Length: 3.0", "abc")),
        .refused("exponent", "9110 §8.6", Text.post("Content-Length: 1e1", "0123456789")),
        .refused("space within", "9110 §8.6", Text.post("Content-Length: 1 0", "0123456789")),
        .refused("tab within", "9110 §8.6", Text.post("Content-Length: 1\t0", "0123456789")),
        .refused("semicolon", "9110 §8.6", Text.post("Content-Length: 3;a", "abc")),
        .refused("quoted", "9110 §8.6", Text.post("Content-Length: \"3\"", "abc")),
        .refused("obs-text digits", "9110 §8.6", Text.post("Content-Length: \u{d9}\u{a3}", "abc")),
        .refused("no-break space", "9110 §8.6", Text.post("Content-Length: \u{a0}3", "abc")),
        .refused("2^63", "9110 §8.6", Text.post("Content-Length: 9223372036854775808")),
        .refused("2^64", "9110 §8.6", Text.post("Content-Length: 18446744073709551616", Text.smuggled)),
        .refused("2^64 + 3", "9110 §8.6", Text.post("Content-Length: 18446744073709551619", "abc")),
        .refused("2^32 + 3", "9110 §15.5.14", Text.post("Content-Length: 4294967299", "abc"), 413),
        .refused("2^63 - 1", "9110 §15.5.14", Text.post("Content-Length: 9223372036854775807"), 413),
        .refused("a byte beyond the limit", "9110 §15.5.14", Text.post("Content-Length: 65537"), 413),
        .refused("list of one and the same", "9110 §8.6", Text.post("Content-Length: 3, 3", "abc")),
        .refused("list without space", "9110 §8.6", Text.post("Content-Length: 3,3", "abc")),
        .refused("list of two", "9110 §8.6", Text.post("Content-Length: 3, 4", "abcd")),
        .refused("comma behind", "9110 §8.6", Text.post("Content-Length: 3,", "abc")),
        .refused("comma before", "9110 §8.6", Text.post("Content-Length: ,3", "abc")),
        .refused("twice, the same", "9112 §6.3", Text.post("Content-Length: 3\r\nContent-Length: 3", "abc")),
        .refused(
            "twice, not the same", "9112 §6.3", Text.post("Content-Length: 0\r\nContent-Length: 34", Text.smuggled)),
        .refused("twice, first empty", "9112 §6.3", Text.post("Content-Length:\r\nContent-Length: 34", Text.smuggled)),
        .refused("twice, far apart", "9112 §6.3", Text.post("Content-Length: 3\r\nA: b\r\ncontent-length: 3", "abc")),
    ]

    private static let codings: [WireCase] = [
        .heard("chunked", "9112 §6.1", Text.chunked("0\r\n\r\n"), .post()),
        .heard("CHUNKED", "9112 §7", Text.post("TRANSFER-ENCODING: CHUNKED", "0\r\n\r\n"), .post()),
        .heard(
            "whitespace around a coding", "9112 §5.1", Text.post("Transfer-Encoding: \tchunked \t", "0\r\n\r\n"),
            .post()),
        .heard(
            "the next request follows the last chunk", "9112 §6.3",
            Text.chunked("2\r\nab\r\n0\r\n\r\n\(Text.smuggled)"), .post("ab"),
            .get("/smuggled")),
        .refused("on 1.0", "9112 §6.1", Text.post("Transfer-Encoding: chunked", "0\r\n\r\n", version: "1.0")),
        .refused(
            "on 1.0, kept alive", "9112 §6.1",
            Text.post("Connection: keep-alive\r\nTransfer-Encoding: chunked", "0\r\n\r\n", version: "1.0")),
        .refused("empty coding", "9112 §6.1", Text.post("Transfer-Encoding:", "0\r\n\r\n")),
        .refused("comma alone", "9112 §6.1", Text.post("Transfer-Encoding: ,", "0\r\n\r\n")),
        .refused("chunked twice in a list", "9112 §6.1", Text.post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n")),
        .refused(
            "chunked in two lines", "9112 §6.1",
            Text.post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused("chunked is not last", "9112 §6.3", Text.post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n")),
        .refused(
            "chunked is not last, in two lines", "9112 §6.3",
            Text.post("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", "0\r\n\r\n")),
        .refused("chunked, then identity", "9112 §6.3", Text.post("Transfer-Encoding: chunked, identity", "0\r\n\r\n")),
        .refused(
            "chunked, then identity, in two lines", "9112 §6.3",
            Text.post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n")),
        .refused(
            "chunked, then nothing", "9112 §6.1",
            Text.post("Transfer-Encoding: chunked\r\nTransfer-Encoding:", "0\r\n\r\n")),
        .refused("parameter", "9112 §7", Text.post("Transfer-Encoding: chunked;a=b", "0\r\n\r\n")),
        .refused("weight", "9112 §7", Text.post("Transfer-Encoding: chunked;q=0", "0\r\n\r\n")),
        .refused("gzip, then chunked", "9112 §6.1", Text.post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), 501),
        .refused(
            "gzip, then chunked, in two lines", "9112 §6.1",
            Text.post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), 501),
        .refused("gzip", "9112 §6.1", Text.post("Transfer-Encoding: gzip", "0\r\n\r\n"), 501),
        .refused("deflate", "9112 §6.1", Text.post("Transfer-Encoding: deflate", "0\r\n\r\n"), 501),
        .refused("identity", "9112 §6.1", Text.post("Transfer-Encoding: identity", "0\r\n\r\n"), 501),
        .refused(
            "coding nobody knows", "9112 §6.1", Text.post("Transfer-Encoding: pigeons", "1\r\na\r\n0\r\n\r\n"), 501),
        .refused("trailers is none", "9112 §6.1", Text.post("Transfer-Encoding: trailers", "0\r\n\r\n"), 501),
    ]

    private static let both: [WireCase] = [
        .refused(
            "length, then chunked", "9112 §6.3",
            Text.post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused(
            "chunked, then length", "9112 §6.3",
            Text.post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")),
        .refused(
            "length 0, then chunked", "9112 §6.3",
            Text.post("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused(
            "far apart", "9112 §6.3", Text.post("Content-Length: 5\r\nA: b\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused(
            "length and identity", "9112 §6.3", Text.post("Content-Length: 1\r\nTransfer-Encoding: identity", "a")),
        .refused("length and empty coding", "9112 §6.3", Text.post("Content-Length: 1\r\nTransfer-Encoding:", "a")),
        .refused(
            "empty length and chunked", "9112 §6.3",
            Text.post("Content-Length:\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused(
            "chunked and empty length", "9112 §6.3",
            Text.post("Transfer-Encoding: chunked\r\nContent-Length:", "0\r\n\r\n")),
        .refused(
            "both on 1.0", "9112 §6.3",
            Text.post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n", version: "1.0")),
    ]

    private static let methods: [WireCase] = [
        .heard(
            "GET with content", "9110 §9.3.1", Text.get("Content-Length: 3").then("abc"),
            Understood("GET", body: "abc")),
        .heard(
            "GET in chunks", "9110 §9.3.1", Text.get("Transfer-Encoding: chunked").then("1\r\na\r\n0\r\n\r\n"),
            Understood("GET", body: "a")),
        .heard(
            "GET with a request for content", "9112 §11.2", Text.get("Content-Length: 35").then(Text.smuggled),
            Understood("GET", body: Text.smuggled)),
        .heard(
            "HEAD with content", "9110 §9.3.2", "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            Understood("HEAD", body: "abc")),
        .heard(
            "DELETE with content", "9110 §9.3.5", "DELETE / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            Understood("DELETE", body: "abc")),
        .heard(
            "OPTIONS with content", "9110 §9.3.7", "OPTIONS / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            Understood("OPTIONS", body: "abc")),
        .heard(
            "TRACE with content", "9110 §9.3.8", "TRACE / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            Understood("TRACE", body: "abc")),
        .heard(
            "unknown method with content", "9112 §6", "BREW / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            Understood("BREW", body: "abc")),
        .heard(
            "1.0 with content", "9112 §6.3", Text.post("Content-Length: 3", "abc", version: "1.0"),
            Understood("POST", version: "HTTP/1.0", body: "abc"), then: .closed),
    ]
}
