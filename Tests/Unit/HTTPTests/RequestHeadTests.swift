import HTTP
import HTTPTypes
import Testing

@Suite struct RequestHeadTests {
    private func request(_ text: String, scheme: String = "http") throws -> HTTPRequest {
        let bytes = Array(text.utf8)
        var parser = RequestParser()
        let length = try parser.parse(bytes.span)
        #expect(length == bytes.count)
        return parser.head.makeRequest(bytes.span, scheme: scheme)
    }

    @Test func host_becomesTheAuthority() throws {
        let made = try request(
            "PUT /a?b HTTP/1.1\r\nHost: h:1\r\nX-Own: 1\r\nCookie: a\r\ncookie: b\r\n\r\n", scheme: "https")
        #expect(made.method == .put)
        #expect(made.scheme == "https")
        #expect(made.authority == "h:1")
        #expect(made.path == "/a?b")
        #expect(made.headerFields.map(\.name.canonicalName) == ["x-own", "cookie", "cookie"])
        #expect(made.headerFields[values: .cookie] == ["a", "b"])
    }

    @Test(arguments: [
        ("GET http://h HTTP/1.1", "/"), ("GET http://h?q HTTP/1.1", "/?q"), ("GET http://h/p?q HTTP/1.1", "/p?q"),
        ("OPTIONS http://h HTTP/1.1", "*"), ("OPTIONS * HTTP/1.1", "*"), ("OPTIONS http://h/ HTTP/1.1", "/"),
    ])
    func path_isInOriginForm(_ line: String, _ path: String) throws {
        #expect(try request(line + "\r\nHost: h\r\n\r\n").path == path)
    }

    @Test func unknownMethod_keepsItsName() throws {
        #expect(try request("BREW / HTTP/1.0\r\n\r\n").method.rawValue == "BREW")
        #expect(try request("BREW / HTTP/1.0\r\n\r\n").authority == nil)
    }

    @Test func bytesThatAreNoText_becomeReplacementCharacters() throws {
        let bytes = Array("GET / HTTP/1.0\r\nA: ".utf8) + [0xff, 0x62] + Array("\r\n\r\n".utf8)
        var parser = RequestParser()
        let length = try parser.parse(bytes.span)
        #expect(length == bytes.count)
        let name = try #require(HTTPField.Name("a"))
        #expect(parser.head.makeRequest(bytes.span).headerFields[name] == "\u{fffd}b")
    }

    @Test func requests_doNotAffectTheNext() throws {
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
