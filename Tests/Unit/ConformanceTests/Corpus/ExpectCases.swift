/// `Expect`: RFC 9110 §10.1.1. What a client sees that waits is in `ExpectationTests`.
enum ExpectCases {
    static let all = met + refused

    private static func withContent(
        _ name: String, _ text: String, _ understood: Understood, _ ending: WireCase.Ending = .open
    ) -> WireCase {
        WireCase(name, "9110 §10.1.1", text, [.understood(understood)], ending, mayContinue: true)
    }

    private static let met: [WireCase] = [
        withContent(
            "content comes at once", Text.post("Expect: 100-continue\r\nContent-Length: 3", "abc"), .post("abc")),
        withContent(
            "in chunks", Text.post("Expect: 100-continue\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
            .post("abc")),
        withContent("in any case", Text.post("expect: 100-Continue\r\nContent-Length: 3", "abc"), .post("abc")),
        withContent("behind the length", Text.post("Content-Length: 3\r\nExpect: 100-continue", "abc"), .post("abc")),
        withContent(
            "of a GET", "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
            Understood("GET", body: "abc")),
        withContent(
            "twice", Text.post("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 3", "abc"), .post("abc")
        ),
        withContent(
            "then the end", Text.post("Expect: 100-continue\r\nConnection: close\r\nContent-Length: 3", "abc"),
            .post("abc"), .closed),
        .heard("without content", "9110 §10.1.1", Text.get("Expect: 100-continue"), .get()),
        .heard(
            "with content of no length", "9110 §10.1.1", Text.post("Expect: 100-continue\r\nContent-Length: 0"), .post()
        ),
        .heard(
            "on 1.0", "9110 §10.1.1", Text.post("Expect: 100-continue\r\nContent-Length: 3", "abc", version: "1.0"),
            Understood("POST", version: "HTTP/1.0", body: "abc"), then: .closed),
        .heard(
            "unknown on 1.0", "9110 §10.1.1", Text.get("Expect: pigeons", version: "1.0"),
            Understood("GET", version: "HTTP/1.0"), then: .closed),
        // The content is not a request, whoever waits for what.
        WireCase(
            "a request for content", "9112 §11.2",
            Text.post("Expect: 100-continue\r\nContent-Length: 35", Text.smuggled), [.understood(.post(Text.smuggled))],
            .open, mayContinue: true),
    ]

    private static let refused: [WireCase] = [
        .refused("unknown", "9110 §10.1.1", Text.get("Expect: 200-ok"), 417),
        .refused(
            "unknown, with content", "9110 §10.1.1", Text.post("Expect: pigeons\r\nContent-Length: 35", Text.smuggled),
            417),
        .refused("empty", "9110 §10.1.1", Text.get("Expect:"), 417),
        .refused("100", "9110 §10.1.1", Text.get("Expect: 100"), 417),
        .refused("101-continue", "9110 §10.1.1", Text.get("Expect: 101-continue"), 417),
        .refused(
            "with a word behind", "9110 §10.1.1", Text.post("Expect: 100-continue x\r\nContent-Length: 1", "a"), 417),
        .refused(
            "with a letter before", "9110 §10.1.1", Text.post("Expect: y100-continue\r\nContent-Length: 1", "a"), 417),
        .refused(
            "with a parameter", "9110 §10.1.1", Text.post("Expect: 100-continue;a=b\r\nContent-Length: 1", "a"), 417),
        .refused("quoted", "9110 §10.1.1", Text.post("Expect: \"100-continue\"\r\nContent-Length: 1", "a"), 417),
        .refused("list", "9110 §10.1.1", Text.post("Expect: 100-continue, pigeons\r\nContent-Length: 1", "a"), 417),
        .refused(
            "known, then unknown", "9110 §10.1.1",
            Text.post("Expect: 100-continue\r\nExpect: pigeons\r\nContent-Length: 1", "a"), 417),
        .refused(
            "unknown, then known", "9110 §10.1.1",
            Text.post("Expect: pigeons\r\nExpect: 100-continue\r\nContent-Length: 1", "a"), 417),
        // Judged when its line ends, before the fold is seen.
        .refused("folded", "9112 §5.2", Text.post("Expect:\r\n 100-continue\r\nContent-Length: 1", "a"), 417),
        .refused("space before the colon", "9112 §5.1", Text.post("Expect : 100-continue\r\nContent-Length: 1", "a")),
        .refused(
            "too long by its length", "9110 §10.1.1", Text.post("Expect: 100-continue\r\nContent-Length: 65537"), 413),
        .refused(
            "both framings", "9112 §6.3",
            Text.post("Expect: 100-continue\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        .refused("no length that is one", "9110 §8.6", Text.post("Expect: 100-continue\r\nContent-Length: x", "a")),
        .refused("no Host", "9112 §3.2", "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"),
    ]
}
