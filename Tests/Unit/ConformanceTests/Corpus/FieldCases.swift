/// Field lines: RFC 9112 §5, names and values RFC 9110 §5.
enum FieldCases {
    static let all = values + names + lines

    private static func one(_ field: String) -> Understood { .get(fields: [field]) }

    private static let values: [WireCase] = [
        .heard("value", "9110 §5.5", Text.get("A: b"), one("a: b")),
        .heard("no whitespace", "9112 §5.1", Text.get("A:b"), one("a: b")),
        .heard("whitespace around", "9112 §5.1", Text.get("A: \t b \t"), one("a: b")),
        .heard("whitespace within", "9110 §5.5", Text.get("A: b  c\td"), one("a: b  c\td")),
        .heard("empty", "9110 §5.5", Text.get("A:"), one("a: ")),
        .heard("blank", "9110 §5.5", Text.get("A: \t "), one("a: ")),
        .heard("colon", "9110 §5.5", Text.get("A: b:c"), one("a: b:c")),
        .heard("second colon", "9112 §5", Text.get("A::b"), one("a: :b")),
        .heard("quoted", "9110 §5.6.4", Text.get("A: \"b, \\\"c\""), one("a: \"b, \\\"c\"")),
        .heard(
            "every VCHAR", "9110 §5.5", Text.get("A: !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
            one("a: !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")),
        .heard("UTF-8 is obs-text", "9110 §5.5", Text.get("A: \u{c3}\u{a9}"), one("a: \u{e9}")),
        .heard("obs-text that is no UTF-8", "9110 §5.5", Text.get("A: \u{ff}"), one("a: \u{fffd}")),
        .heard("no-break space is no whitespace", "9110 §5.5", Text.get("A: \u{a0}b"), one("a: \u{fffd}b")),
        .refused("NUL", "9110 §5.5", Text.get("A: b\0c")),
        .refused("NUL at the end", "9110 §5.5", Text.get("A: b\0")),
        .refused("SOH", "9110 §5.5", Text.get("A: \u{1}")),
        .refused("backspace", "9110 §5.5", Text.get("A: b\u{8}")),
        .refused("vertical tab", "9110 §5.5", Text.get("A: \u{b}b")),
        .refused("form feed", "9110 §5.5", Text.get("A: b\u{c}")),
        .refused("escape", "9110 §5.5", Text.get("A: \u{1b}[31m")),
        .refused("unit separator", "9110 §5.5", Text.get("A: b\u{1f}c")),
        .refused("DEL", "9110 §5.5", Text.get("A: b\u{7f}")),
        .refused("bare CR", "9112 §2.2", Text.get("A: b\rc")),
        .refused("bare CR first", "9112 §2.2", Text.get("A: \rb")),
        .refused("CR CR LF", "9112 §2.2", Text.get("A: b\r\r\nC: d")),
        .refused("NUL, then CR", "9110 §5.5", Text.get("A: v\0\ralue")),
    ]

    private static let names: [WireCase] = [
        .heard("every tchar", "9110 §5.6.2", Text.get("a1!#$%&'*+-.^_`|~: b"), one("a1!#$%&'*+-.^_`|~: b")),
        .heard("case does not matter", "9110 §5.1", Text.get("X-ABC: d"), one("x-abc: d")),
        .heard("digits", "9110 §5.1", Text.get("123: 4"), one("123: 4")),
        .heard(
            "the same name twice", "9110 §5.3", Text.get("A: 1\r\nB: 2\r\na: 3"),
            .get(fields: ["a: 1", "b: 2", "a: 3"])),
        .heard("underscore is no hyphen", "9110 §5.6.2", Text.get("Content_Length: 5"), one("content_length: 5")),
        .refused("none", "9112 §5", Text.get(": b")),
        .refused("none and no value", "9112 §5", Text.get(":")),
        .refused("none, first of all", "9112 §5", "GET / HTTP/1.1\r\n: b\r\nHost: h\r\n\r\n"),
        .refused("space before the colon", "9112 §5.1", Text.get("A : b")),
        .refused("tab before the colon", "9112 §5.1", Text.get("A\t: b")),
        .refused("space before the colon of Host", "9112 §5.1", "GET / HTTP/1.1\r\nHost : h\r\n\r\n"),
        .refused("space within", "9110 §5.1", Text.get("A B: c")),
        .refused("no colon", "9112 §5", Text.get("A")),
        .refused("space in the place of the colon", "9112 §5", Text.get("Content-Length 5")),
        .refused("equals sign in its place", "9112 §5", Text.get("A=b")),
        .refused("colon on the next line", "9112 §5.2", Text.get("A\r\n : b")),
        .refused("across two lines", "9112 §5", Text.get("Transfer-\r\nEncoding: chunked")),
        .refused("parenthesis", "9110 §5.6.2", Text.get("A(b): c")),
        .refused("comma", "9110 §5.6.2", Text.get("A,b: c")),
        .refused("slash", "9110 §5.6.2", Text.get("A/b: c")),
        .refused("semicolon", "9110 §5.6.2", Text.get("A;b: c")),
        .refused("less-than sign", "9110 §5.6.2", Text.get("<A: b")),
        .refused("question mark", "9110 §5.6.2", Text.get("A?: b")),
        .refused("at sign", "9110 §5.6.2", Text.get("A@: b")),
        .refused("bracket", "9110 §5.6.2", Text.get("A[0]: b")),
        .refused("backslash", "9110 §5.6.2", Text.get("A\\: b")),
        .refused("brace", "9110 §5.6.2", Text.get("{A}: b")),
        .refused("quotation marks", "9110 §5.6.2", Text.get("\"A\": b")),
        .refused("NUL in a name", "9110 §5.6.2", Text.get("A\0: b")),
        .refused("DEL in a name", "9110 §5.6.2", Text.get("A\u{7f}: b")),
        .refused("control in a name", "9110 §5.6.2", Text.get("A\u{1}B: c")),
        .refused("obs-text in a name", "9110 §5.6.2", Text.get("\u{ef}A: b")),
        .refused("no-break space behind a name", "9110 §5.6.2", Text.get("Content-Length\u{a0}: 5")),
        .refused("next-line behind a name", "9110 §5.6.2", Text.get("Content-Length\u{85}: 5")),
        .refused("CR in a name", "9112 §2.2", Text.get("A\rB: c")),
        .refused("CR before the colon", "9112 §2.2", Text.get("A\r: b")),
    ]

    private static let lines: [WireCase] = [
        .refused("obs-fold", "9112 §5.2", Text.get("A: b\r\n c")),
        .refused("obs-fold with a tab", "9112 §5.2", Text.get("A: b\r\n\tc")),
        .refused("obs-fold of nothing", "9112 §5.2", Text.get("A: b\r\n ")),
        .refused("obs-fold of an empty value", "9112 §5.2", Text.get("A:\r\n b")),
        .refused("whitespace behind the request line", "9112 §2.2", "GET / HTTP/1.1\r\n Host: h\r\n\r\n"),
        .refused("a line of whitespace behind it", "9112 §2.2", "GET / HTTP/1.1\r\n \r\nHost: h\r\n\r\n"),
        .refused("bare LF ends a line", "9112 §2.2", Text.get("A: b\nC: d")),
        .refused("bare LF behind a colon", "9112 §2.2", Text.get("A:\nC: d")),
        .refused("bare LF in a name", "9112 §2.2", Text.get("A\nC: d")),
        .refused("bare LF ends the head", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\n"),
        .refused("two bare LFs end the head", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\n\n"),
        .refused("nothing but LFs", "9112 §2.2", "GET / HTTP/1.1\nHost: h\n\n"),
        .refused("nothing but CRs", "9112 §2.2", "GET / HTTP/1.1\rHost: h\r\r"),
        .refused("CR ends a line", "9112 §2.2", "GET / HTTP/1.1\r\nVisible: a\rSmuggled: b\r\nHost: h\r\n\r\n"),
        .refused(
            "CR X ends the head", "9112 §2.2",
            "GET / HTTP/1.1\r\nHost: h\r\n\rZGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"),
        .refused("LF CR ends the head", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\n\r"),
        .refused("CR CR LF ends the head", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n"),
        .refused("NUL for a line", "9112 §5", Text.get("\0")),
        .heard("a hundred lines", "6585 §5", Text.get(many(99)), .get()),
        .refused("a line more", "6585 §5", Text.get(many(100)), 431),
        .heard("a long value", "9110 §5.4", Text.get("A: \(String(repeating: "b", count: 8000))"), .get()),
        .refused("a head too long", "6585 §5", Text.get("A: \(String(repeating: "b", count: 16_384))"), 431),
        .refused("a name too long", "6585 §5", Text.get("\(String(repeating: "a", count: 16_384)): b"), 431),
        .refused(
            "a line too long", "9110 §15.5.15", Text.line("GET /\(String(repeating: "a", count: 8192)) HTTP/1.1"), 414),
        .waits("no empty line", "9112 §2.1", "GET / HTTP/1.1\r\nHost: h\r\n"),
        .waits("no LF at the end", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\r"),
    ]

    /// Host is one line more.
    private static func many(_ count: Int) -> String {
        (0..<count).map { "A\($0): b" }.joined(separator: "\r\n")
    }
}
