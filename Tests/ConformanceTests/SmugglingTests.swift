import HTTP
import Testing

/// One way to make two readers of one connection disagree, and what we make of it.
struct SmugglingCase: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let heard: [Heard]

    var testDescription: String { name }

    init(_ name: String, _ text: String, _ heard: Heard...) {
        self.name = name
        self.text = text
        self.heard = heard
    }
}

private let smuggled = "GET /admin HTTP/1.1\r\nHost: h\r\n\r\n"
private let post = "POST / HTTP/1.1\r\nHost: h\r\n"

@Suite struct SmugglingTests {
    @Test(arguments: [
        // Two framings, RFC 9112 §6.1 and §11.2.
        SmugglingCase(
            "CL.TE", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", .refused(400)),
        SmugglingCase(
            "TE.CL", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n" + smuggled, .refused(400)),
        SmugglingCase(
            "CL.0", post + "Content-Length: 0\r\n\r\n" + smuggled, .request("POST /"), .request("GET /admin")),
        SmugglingCase("CL.CL", post + "Content-Length: 0\r\nContent-Length: 33\r\n\r\n" + smuggled, .refused(400)),
        SmugglingCase("CL list", post + "Content-Length: 33, 33\r\n\r\n" + smuggled, .refused(400)),
        SmugglingCase("CL with sign", post + "Content-Length: +33\r\n\r\n" + smuggled, .refused(400)),
        SmugglingCase("CL hexadecimal", post + "Content-Length: 0x21\r\n\r\n" + smuggled, .refused(400)),
        SmugglingCase("CL empty", post + "Content-Length: \r\n\r\n" + smuggled, .refused(400)),
        SmugglingCase("CL after NUL", post + "A: \0\r\nContent-Length: 33\r\n\r\n" + smuggled, .refused(400)),
        // TE.TE: codings hidden from one of two readers.
        SmugglingCase("TE xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n" + smuggled, .refused(501)),
        SmugglingCase("TE space before colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "TE twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE vertical tab", post + "Transfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE tab", post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n", .request("POST /")),
        SmugglingCase("TE folded", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "TE folded after another", post + "A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE leading space", post + " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE behind bare LF", post + "A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE behind bare CR", post + "A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE quoted", post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE identity", post + "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\na", .refused(501)),
        SmugglingCase(
            "TE chunked, identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("TE gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", .refused(501)),
        SmugglingCase(
            "TE on 1.0", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "TE name with underscore", post + "Transfer_Encoding: chunked\r\n\r\n" + smuggled,
            .request("POST /"), .request("GET /admin")),
        // Chunks, RFC 9112 §7.1.
        SmugglingCase(
            "chunked, then another", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" + smuggled,
            .request("POST / ab"), .request("GET /admin")),
        SmugglingCase(
            "chunk size overflow", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\nab\r\n0\r\n\r\n",
            .refused(400)),
        SmugglingCase(
            "chunk size 0x", post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "chunk size sign", post + "Transfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "chunk size negative", post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("chunk LF", post + "Transfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "chunk extension LF", post + "Transfer-Encoding: chunked\r\n\r\n2;\nab\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase("chunk data LF", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "chunk data too long", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "chunk data without end", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nab0\r\n\r\n", .refused(400)),
        SmugglingCase(
            "trailer as header", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 33\r\n\r\n" + smuggled,
            .request("POST /"), .request("GET /admin")),
        SmugglingCase("trailer LF", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n", .refused(400)),
        SmugglingCase("last chunk with LF", post + "Transfer-Encoding: chunked\r\n\r\n0\n\n", .refused(400)),
        SmugglingCase(
            "trailer folded", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n", .refused(400)),
        // The request line.
        SmugglingCase("HTTP/0.9", "GET /\r\n", .refused(400)),
        SmugglingCase("two versions", "GET / HTTP/1.1 HTTP/1.1\r\nHost: h\r\n\r\n", .refused(400)),
        SmugglingCase("tab as separator", "GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n", .refused(400)),
        SmugglingCase("LF in target", "GET /\nHost: h HTTP/1.1\r\n\r\n", .refused(400)),
        SmugglingCase("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .refused(505)),
        SmugglingCase("TLS client hello", "\u{16}\u{3}\u{1}\u{2}", .refused(400)),
        SmugglingCase("CONNECT", "CONNECT h:25 HTTP/1.1\r\nHost: h\r\n\r\n", .refused(501)),
        // Host, RFC 9112 §3.2.
        SmugglingCase("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", .refused(400)),
        SmugglingCase("host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", .refused(400)),
        SmugglingCase("host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .refused(400)),
        SmugglingCase("host with user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .refused(400)),
        SmugglingCase("no host", "GET / HTTP/1.1\r\n\r\n", .refused(400)),
        // Lines.
        SmugglingCase("header without colon", "GET / HTTP/1.1\r\nHost: h\r\nA\r\n\r\n", .refused(400)),
        SmugglingCase("empty name", "GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", .refused(400)),
        SmugglingCase("LF ends the head", "GET / HTTP/1.1\nHost: h\n\n", .refused(400)),
        SmugglingCase("CR ends a line", "GET / HTTP/1.1\r\nHost: h\r\n\rGET /admin HTTP/1.1\r\n\r\n", .refused(400)),
        SmugglingCase(
            "closing is closing", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + smuggled, .request("GET /")
        ),
        SmugglingCase(
            "line between requests", "GET / HTTP/1.1\r\nHost: h\r\n\r\n\r\n" + smuggled,
            .request("GET /"), .request("GET /admin")),
        SmugglingCase(
            "content runs over", post + "Content-Length: 2\r\n\r\nabGET /admin HTTP/1.1\r\nHost: h\r\n\r\n",
            .request("POST / ab"), .request("GET /admin")),
        SmugglingCase(
            "Expect with space", post + "Content-Length: 1\r\nExpect: 100-continue x\r\n\r\na", .refused(417)),
    ])
    func ambiguity_isHeardOneWayInAnyPieces(_ attempt: SmugglingCase) {
        let bytes = Array(attempt.text.utf8)
        for pieces in [Int.max, 1, 2, 3, 7] {
            #expect(listen(to: bytes, pieces: pieces) == attempt.heard, "\(pieces) at a time")
        }
    }
}
