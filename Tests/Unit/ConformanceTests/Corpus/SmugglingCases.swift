/// Ways to make two readers of one connection disagree about where a request ends (RFC 9112 §11.2), in the spellings
/// that one reader or another has fallen for. What the other tables hold already is not here again.
enum SmugglingCases {
    static let all = lengthAndChunked + hiddenCodings + hiddenLengths + hiddenEnds + chunkGadgets + waiting + targets

    private static let smuggled = Text.smuggled
    private static let lastChunk = "0\r\n\r\n"
    private static let afterTheEnd = lastChunk + smuggled
    private static let inAChunk = "23\r\n\(smuggled)\r\n0\r\n\r\n"

    private static let lengthAndChunked: [WireCase] = [
        .refused("CL.TE", "9112 §6.3", Text.post("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG")),
        .refused(
            "CL.TE with a request", "9112 §6.3",
            Text.post("Content-Length: 40\r\nTransfer-Encoding: chunked", afterTheEnd)),
        .refused(
            "TE.CL", "9112 §6.3",
            Text.post("Content-Length: 4\r\nTransfer-Encoding: chunked", inAChunk)),
        .refused(
            "TE.CL, coding first", "9112 §6.3",
            Text.post("Transfer-Encoding: chunked\r\nContent-Length: 4", inAChunk)),
        .refused(
            "CL.TE, then close", "9112 §6.3",
            Text.post("Connection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", afterTheEnd)),
        .heard("CL.0", "9112 §6.2", Text.post("Content-Length: 35", smuggled), .post(smuggled)),
        .heard("0.CL", "9112 §6.2", Text.get("Content-Length: 35").then(smuggled), Understood("GET", body: smuggled)),
        .heard(
            "0.TE", "9112 §6.3", Text.get("Transfer-Encoding: chunked").then(inAChunk),
            Understood("GET", body: smuggled)),
        .heard(
            "H.CL", "9112 §6.2", "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 35\r\n\r\n\(smuggled)",
            Understood("HEAD", body: smuggled)),
        .heard(
            "early end within a length", "9112 §6.2", Text.post("Content-Length: 40", afterTheEnd),
            .post(afterTheEnd)),
    ]

    /// Beside a Content-Length, as an attacker has it: one reader sees the coding and the other the length.
    /// What only looks like a length or a coding: there is no content, and the next request begins behind the head.
    private static func harmless(_ name: String, _ section: String, _ lines: String) -> WireCase {
        .heard(name, section, Text.post(lines, smuggled), .post(), .get("/smuggled"))
    }

    private static func coding(_ name: String, _ line: String, _ status: Int = 400, _ section: String = "9112 §6.3")
        -> WireCase
    {
        .refused("TE.TE: \(name)", section, Text.post("Content-Length: 5\r\n" + line, afterTheEnd), status)
    }

    /// Alone, where the length is no help.
    private static func alone(_ name: String, _ value: String, _ status: Int, _ section: String = "9112 §6.1")
        -> WireCase
    {
        .refused("TE: \(name)", section, Text.post("Transfer-Encoding:" + value, afterTheEnd), status)
    }

    private static let hiddenCodings: [WireCase] = [
        coding("xchunked", "Transfer-Encoding: xchunked"), coding("chunkedx", "Transfer-Encoding: chunkedx"),
        coding("Chunked", "Transfer-Encoding: Chunked"), coding("tab", "Transfer-Encoding:\tchunked"),
        coding("vertical tab", "Transfer-Encoding:\u{b}chunked"),
        coding("form feed", "Transfer-Encoding: \u{c}chunked"),
        coding("vertical tab behind", "Transfer-Encoding: chunked\u{b}"),
        coding("no space", "Transfer-Encoding:chunked"), coding("two spaces", "Transfer-Encoding:  chunked"),
        coding("space behind", "Transfer-Encoding: chunked "), coding("tab behind", "Transfer-Encoding: chunked\t"),
        coding("leading comma", "Transfer-Encoding: ,chunked"), coding("trailing comma", "Transfer-Encoding: chunked,"),
        coding("chunked, identity", "Transfer-Encoding: chunked, identity"),
        coding("identity, chunked", "Transfer-Encoding: identity, chunked"),
        coding("chunked,chunked", "Transfer-Encoding: chunked,chunked"),
        coding("chunkedchunked", "Transfer-Encoding: chunkedchunked"),
        coding("quoted", "Transfer-Encoding: \"chunked\""), coding("single quotes", "Transfer-Encoding: 'chunked'"),
        coding("brackets", "Transfer-Encoding: [chunked]"), coding("parameter", "Transfer-Encoding: chunked;a=b"),
        coding("semicolon", "Transfer-Encoding: chunked;"), coding("two words", "Transfer-Encoding: chunked x"),
        coding("space before the colon", "Transfer-Encoding : chunked", 400, "9112 §5.1"),
        coding("tab before the colon", "Transfer-Encoding\t: chunked", 400, "9112 §5.1"),
        coding("space before the name", " Transfer-Encoding: chunked", 400, "9112 §5.2"),
        coding("folded", "Transfer-Encoding:\r\n chunked", 400, "9112 §5.2"),
        coding("folded behind another field", "A: b\r\n Transfer-Encoding: chunked", 400, "9112 §5.2"),
        coding("folded name", "Transfer-\r\n Encoding: chunked", 400, "9112 §5"),
        coding("bare LF before", "A: b\nTransfer-Encoding: chunked", 400, "9112 §2.2"),
        coding("bare CR before", "A: b\rTransfer-Encoding: chunked", 400, "9112 §2.2"),
        coding("bare LF behind an empty value", "A:\nTransfer-Encoding: chunked", 400, "9112 §2.2"),
        coding("bare LF within", "Transfer-Encoding:\nchunked", 400, "9112 §2.2"),
        coding("bare CR within", "Transfer-Encoding: chunked\r, identity", 400, "9112 §2.2"),
        coding("NUL behind", "Transfer-Encoding: chunked\0", 400, "9110 §5.5"),
        coding("NUL before", "Transfer-Encoding: \0chunked", 400, "9110 §5.5"),
        coding("NUL in the name", "Transfer-Encoding\0: chunked", 400, "9110 §5.6.2"),
        coding("DEL in the name", "Transfer\u{7f}-Encoding: chunked", 400, "9110 §5.6.2"),
        coding("obs-text around", "Transfer-Encoding: \u{ff}chunked\u{ff}"),
        coding("no-break space", "Transfer-Encoding: \u{a0}chunked"),
        coding("next-line", "Transfer-Encoding: \u{85}chunked"),
        coding("byte order mark", "Transfer-Encoding: \u{ef}\u{bb}\u{bf}chunked"),
        coding("Kelvin sign", "Transfer-Encoding: chun\u{e2}\u{84}\u{aa}ed"),
        coding("two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        coding("two lines, the other way round", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
        coding("two lines, second in another case", "Transfer-Encoding: x\r\ntransfer-encoding: chunked"),
        coding("empty, then chunked", "Transfer-Encoding:\r\nTransfer-Encoding: chunked"),
        coding("value of the next line", "Transfer-Encoding: cow\r\nTransfer-Encoding:chunked"),
        alone("xchunked", " xchunked", 501), alone("chunkedchunked", " chunkedchunked", 501),
        alone("single quotes", " 'chunked'", 501),
        alone("quoted", " \"chunked\"", 400), alone("leading comma", " ,chunked", 400),
        alone("leading comma and space", " , chunked", 400),
        alone("trailing comma", " chunked,", 400), alone("trailing comma and space", " chunked , ", 400),
        alone("identity, chunked", " identity, chunked", 501),
        alone("vertical tab", "\u{b}chunked", 400, "9110 §5.5"), alone("obs-text", " \u{ff}chunked", 400),
        alone("no-break space behind", " chunked\u{a0}", 400),
        alone("two words", " chunked x", 400), alone("brackets", " [chunked]", 400),
        harmless("TE: is not Transfer-Encoding", "9110 §10.1.4", "TE: chunked"),
        harmless("underscore for the hyphen", "9110 §5.6.2", "Transfer_Encoding: chunked"),
        harmless("dot for the hyphen", "9110 §5.6.2", "Transfer.Encoding: chunked"),
        harmless("X-Transfer-Encoding", "9110 §5.1", "X-Transfer-Encoding: chunked"),
        harmless("within another value", "9112 §5", "A: b, Transfer-Encoding: chunked"),
        .heard(
            "underscore beside a length", "9112 §6.2",
            Text.post("Transfer_Encoding: chunked\r\nContent-Length: 5", lastChunk), .post(lastChunk)),
    ]

    private static func length(_ name: String, _ lines: String, _ section: String = "9110 §8.6") -> WireCase {
        .refused("CL: \(name)", section, Text.post(lines, smuggled))
    }

    private static let hiddenLengths: [WireCase] = [
        length("space before the colon", "Content-Length : 35", "9112 §5.1"),
        length("space before the name", "A: b\r\n Content-Length: 35", "9112 §5.2"),
        length("first line indented", " Content-Length: 35", "9112 §5.2"),
        length("folded", "Content-Length:\r\n 35", "9112 §5.2"),
        length("behind a bare LF", "A: b\nContent-Length: 35", "9112 §2.2"),
        length("behind a bare CR", "A: b\rContent-Length: 35", "9112 §2.2"),
        length("behind NUL", "A: \0\r\nContent-Length: 35", "9110 §5.5"),
        length("CR for the hyphen", "Content\rLength: 35", "9112 §2.2"),
        length("no colon", "Content-Length 35", "9112 §5"), length("NUL behind", "Content-Length: 35\0", "9110 §5.5"),
        length("vertical tab", "Content-Length:\u{b}35", "9110 §5.5"), length("letter behind", "Content-Length: 35x"),
        length("two numbers", "Content-Length: 0 35"),
        length("0 and a list", "Content-Length: 0,35"), length("plus", "Content-Length: +35"),
        length("longest prefix", "Content-Length: 35;1"),
        length("first 0", "Content-Length: 0\r\nContent-Length: 35", "9112 §6.3"),
        length("last 0", "Content-Length: 35\r\nContent-Length: 0", "9112 §6.3"),
        length("first with a letter", "Content-Length: x\r\nContent-Length: 35", "9112 §6.3"),
        length("first negative", "Content-Length: -1\r\nContent-Length: 35", "9112 §6.3"),
        harmless("CL: underscore for the hyphen", "9110 §5.6.2", "Content_Length: 35"),
        harmless("CL: one letter less", "9110 §5.1", "Content-Lengt: 35"),
        harmless("CL: within another value", "9112 §5", "A: b Content-Length: 35"),
        harmless("CL: escaped line break before", "9112 §5", "A: b%0d%0aContent-Length: 35"),
        harmless("CL: backslash escapes before", "9112 §5", "A: b\\r\\nContent-Length: 35"),
    ]

    private static let hiddenEnds: [WireCase] = [
        .refused("head ends with two LFs", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\n\n\(smuggled)"),
        .refused("head ends with LF CRLF", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\n\r\n\(smuggled)"),
        .refused("head ends with CRLF LF", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\n\(smuggled)"),
        .refused("head ends with CR CR", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\r\(smuggled)"),
        .refused("head ends with CRLF CR", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\n\r\(smuggled)"),
        .refused("value of two LFs", "9112 §2.2", "GET / HTTP/1.1\r\nHost: h\r\nA:\n\n\(smuggled)"),
        .refused(
            "empty field, then more", "9112 §5",
            "GET / HTTP/1.1\r\n:\r\nHost: h\r\nContent-Length: 35\r\n\r\n\(smuggled)"),
        .heard(
            "request in a value", "9112 §5", Text.get("A: GET /smuggled HTTP/1.1"),
            .get(fields: ["a: GET /smuggled HTTP/1.1"])),
        .heard(
            "request in a query", "9112 §3.2", Text.line("GET /?a=%0d%0a%0d%0aGET%20/ HTTP/1.1"),
            .get("/?a=%0d%0a%0d%0aGET%20/")),
        .refusedBehind(.get(), "NUL between requests", "9112 §3", Text.get("A: b").then("\0\(smuggled)")),
        .refusedBehind(.get(), "LF between requests", "9112 §2.2", Text.get("A: b").then("\n\(smuggled)")),
        .refusedBehind(
            .get(), "two empty lines between requests", "9112 §2.2", Text.get("A: b").then("\r\n\r\n\(smuggled)")),
        .refusedBehind(.get(), "content nobody announced", "9112 §6.3", Text.get("A: b").then("abc\r\n\(smuggled)")),
        .refusedBehind(
            .post("ab"), "more content than announced", "9112 §6.3",
            Text.post("Content-Length: 2", "abc\r\n\(smuggled)")),
        .heard(
            "an empty line between requests", "9112 §2.2", Text.get("A: b").then("\r\n\(smuggled)"), .get(),
            .get("/smuggled")),
        .refusedBehind(.post("a"), "NUL behind the last chunk", "9112 §7.1", Text.chunked("1\r\na\r\n0\r\n\r\n\0")),
        .heard(
            "content runs into a request", "9112 §6.2", Text.post("Content-Length: 2", "ab\(smuggled)"), .post("ab"),
            .get("/smuggled")),
    ]

    private static let chunkGadgets: [WireCase] = [
        // One reader ends a chunk line at a bare LF or CR, the other at CRLF.
        .refused("TERM.EXT with LF", "9112 §7.1.1", Text.chunked("2;\nxx\r\n4c\r\n0\r\n\r\n\(smuggled)")),
        .refused("TERM.EXT with CR", "9112 §7.1.1", Text.chunked("2;\rxx\r\n4c\r\n0\r\n\r\n\(smuggled)")),
        .refused("EXT.TERM with LF", "9112 §7.1.1", Text.chunked("2;a\nxx\r\n23\r\n\(smuggled)\r\n0\r\n\r\n")),
        .refused(
            "EXT.TERM without a semicolon", "9112 §7.1", Text.chunked("2\nxx\r\n23\r\n\(smuggled)\r\n0\r\n\r\n")),
        .refused("TERM.SPILL", "9112 §7.1", Text.chunked("5\r\nAAAAA\n2b\r\n0\r\n\r\n\(smuggled)")),
        .refused("SPILL.TERM", "9112 §7.1", Text.chunked("5\r\nAAAAAXX\r\n0\r\n\r\n\(smuggled)")),
        .refused("ONE.TWO: one byte for a line end", "9112 §7.1", Text.chunked("5\r\nAAAAAX0\r\n\r\n\(smuggled)")),
        .refused("two newlines in an extension", "9112 §7.1.1", Text.chunked("2;\n\nxx\r\n0\r\n\r\n\(smuggled)")),
        .refused("two newlines behind a size", "9112 §7.1", Text.chunked("2\n\nxx\r\n0\r\n\r\n\(smuggled)")),
        .refused("two newlines behind a chunk", "9112 §7.1", Text.chunked("2\r\nxx\n\n0\r\n\r\n\(smuggled)")),
        .refused(
            "CR CR before the semicolon", "9112 §7.1.1", Text.chunked("5\r\r;ABCD\r\n34\r\nE\r\n0\r\n\r\n\(smuggled)")),
        .refused("CR CR in an extension", "9112 §7.1.1", Text.chunked("41;a=b\r\rXXXX\r\n0\r\n\r\n\(smuggled)")),
        .refused(
            "line break in a quoted extension", "9110 §5.6.4", Text.chunked("3;a=\"\r\nabc\r\n0\r\n\r\n\(smuggled)")),
        .refused("underscore in a size", "9112 §7.1", Text.chunked("0_2e\r\n\r\n\(smuggled)")),
        .refused("size with 0x", "9112 §7.1", Text.chunked("0x23\r\n\(smuggled)\r\n0\r\n\r\n")),
        .refused("size that wraps to 0", "9112 §7.1", Text.chunked("10000000000000000\r\n\r\n\(smuggled)")),
        .refused("size that wraps 32 bits", "9110 §15.5.14", Text.chunked("100000000\r\n\r\n\(smuggled)"), 413),
        .refused("last chunk, then a request for a trailer", "9112 §7.1.2", Text.chunked("0\r\n\(smuggled)")),
        .refused("last chunk, then X:POST", "9112 §7.1.2", Text.chunked("0\r\nX:POST / HTTP/1.1\r\nHost h\r\n\r\n")),
        .heard(
            "the end as a trailer's value", "9112 §7.1.2", Text.chunked("0\r\nA: 0\r\n\r\n\(smuggled)"),
            .post(trailers: ["a: 0"]), .get("/smuggled")),
        .heard(
            "a trailer that frames", "9110 §6.5.1", Text.chunked("0\r\nContent-Length: 35\r\n\r\n\(smuggled)"), .post(),
            .get("/smuggled")),
        .heard(
            "early end within a chunk", "9112 §7.1", Text.chunked("28\r\n0\r\n\r\n\(smuggled)\r\n0\r\n\r\n"),
            .post(afterTheEnd)),
    ]

    private static let waiting: [WireCase] = [
        .refused(
            "Expect hides a length", "9110 §10.1.1",
            Text.post("Expect: 100-continue \u{b}\r\nContent-Length: 35", smuggled)),
        .refused(
            "Expect of something else", "9110 §10.1.1", Text.post("Expect: y\r\nContent-Length: 35", smuggled), 417),
        .refused(
            "Expect with both framings", "9112 §6.3",
            Text.post("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", afterTheEnd)),
        WireCase(
            "GET that expects", "9110 §10.1.1", Text.get("Expect: 100-continue\r\nContent-Length: 35").then(smuggled),
            [.understood(Understood("GET", body: smuggled))], .open, mayContinue: true),
        WireCase(
            "HEAD that expects", "9110 §10.1.1",
            "HEAD / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 35\r\n\r\n\(smuggled)",
            [.understood(Understood("HEAD", body: smuggled))], .open, mayContinue: true),
        .heard(
            "Expect without content", "9110 §10.1.1", Text.get("Expect: 100-continue").then(smuggled), .get(),
            .get("/smuggled")),
    ]

    private static let targets: [WireCase] = [
        .heard(
            "absolute target against Host", "9112 §3.2.2", Text.line("GET http://evil.example/ HTTP/1.1"),
            .get(host: "evil.example")),
        .refused("Host against Host", "9112 §3.2", "GET / HTTP/1.1\r\nHost: a\r\nHost: evil.example\r\n\r\n"),
        .refused("Host behind a space", "9112 §5.1", "GET / HTTP/1.1\r\nHost : evil.example\r\nHost: h\r\n\r\n"),
        .refused("Host folded", "9112 §5.2", "GET / HTTP/1.1\r\nHost: a\r\n evil.example\r\n\r\n"),
        .refused(
            "Host before an indented Host", "9112 §5.2", "GET / HTTP/1.1\r\nHost: h\r\n Host: evil.example\r\n\r\n"),
        .refused(
            "Host behind an indented Host", "9112 §5.2", "GET / HTTP/1.1\r\n Host: evil.example\r\nHost: h\r\n\r\n"),
        .refused("Host with NUL", "9110 §5.5", Text.host("evil.example\0.h")),
        .refused("Host with two addresses", "9110 §7.2", Text.host("h@evil.example")),
        .refused("space in the target", "9112 §3.2", Text.line("GET /a HTTP/1.1\u{a0}b HTTP/1.1")),
        .refused("tab before the version", "9112 §3", Text.line("GET /admin\tHTTP/1.1")),
        .refused("version within the target", "9112 §3", Text.line("GET / HTTP/1.1/../b HTTP/1.1")),
    ]
}
