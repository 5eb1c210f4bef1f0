import HTTP
import HTTPTypes
import Testing

@Suite struct RequestFieldTests {
    private func head(_ lines: String) -> ParsedRequest? {
        accepted("GET / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n\r\n")
    }

    @Test(arguments: [
        ("A: b", "A=b"), ("A:b", "A=b"), ("A: \t b \t ", "A=b"), ("A:", "A="), ("A:   ", "A="),
        ("A: b  c\td", "A=b  c\td"), ("A: \u{e9}", "A=\u{e9}"), ("A: b:c", "A=b:c"),
        ("1!#$%&'*+-.^_`|~: x", "1!#$%&'*+-.^_`|~=x"),
        ("A: \"quoted, \\\"text\"", "A=\"quoted, \\\"text\""),
    ])
    func fields_areTrimmed(_ line: String, _ expected: String) throws {
        #expect(try #require(head(line)).fields == ["Host=h", expected])
    }

    @Test func duplicates_areKeptInOrder() throws {
        #expect(try #require(head("A: 1\r\nB: 2\r\na: 3")).fields == ["Host=h", "A=1", "B=2", "a=3"])
    }

    @Test(
        arguments: [
            (": b", .emptyFieldName), ("A : b", .spaceBeforeColon), ("A\t: b", .spaceBeforeColon),
            (" A: b", .obsoleteFolding), ("\tA: b", .obsoleteFolding), ("A: b\r\n c", .obsoleteFolding),
            ("A: b\r\n\tc", .obsoleteFolding), ("A: b\r\n ", .obsoleteFolding), ("A", .invalidFieldName),
            ("A\u{0}: b", .invalidFieldName), ("A@: b", .invalidFieldName), ("A\u{e9}: b", .invalidFieldName),
            ("A(: b", .invalidFieldName), ("\u{7f}: b", .invalidFieldName), ("A: b\u{0}c", .invalidFieldValue),
            ("A: \u{1}", .invalidFieldValue), ("A: \u{b}b", .invalidFieldValue), ("A: b\u{7f}", .invalidFieldValue),
            ("A: b\u{1b}[0m", .invalidFieldValue), ("A: b\nC: d", .bareLineFeed), ("A:\nC: d", .bareLineFeed),
            ("A\nC: d", .bareLineFeed), ("A: b\rC: d", .bareCarriageReturn), ("A:\rC: d", .bareCarriageReturn),
            ("A: b\r\r\nC: d", .bareCarriageReturn),
        ] as [(String, WireError)])
    func lines_areRefusedPrecisely(_ line: String, _ error: WireError) {
        #expect(refusal(of: "GET / HTTP/1.1\r\nHost: h\r\n" + line + "\r\n\r\n") == error, "\(visible(line))")
    }

    @Test func errors_comeWithTheLineNotWithTheHead() {
        let text = "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n"
        #expect(parse(Array(text.utf8), ends: [text.utf8.count]) == .refused(.invalidContentLength))
    }

    @Test func everyKnownField_isRecognisedInAnyCase() {
        for known in KnownField.allCases where known != .other {
            for name in [known.name.rawName, known.name.rawName.uppercased()] where known != .host {
                var parser = RequestParser()
                let value =
                    switch known {
                    case .contentLength: "0"
                    case .transferEncoding: "chunked"
                    case .expect: "100-continue"
                    default: "x"
                    }
                let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\n\(name): \(value)\r\n\r\n".utf8)
                let length = try? parser.parse(bytes.span)
                #expect(length == bytes.count)
                #expect(parser.head.first(known)?.value.string(in: bytes.span) == value, "\(name)")
                #expect(parser.head.count(of: known) == 1)
            }
        }
    }

    @Test(arguments: [
        "Content-Lengt", "Content-Lengthx", "Content_Length", "Content-Length\u{7f}", "xContent-Length", "Hos", "Hostt",
    ])
    func almostKnownNames_areOthers(_ name: String) {
        var parser = RequestParser()
        let bytes = Array("GET / HTTP/1.0\r\n\(name): 5\r\n\r\n".utf8)
        if (try? parser.parse(bytes.span)) != nil {
            #expect(parser.head.fields.map(\.known) == [.other])
            #expect(parser.head.framing == .none)
        }
    }

    @Test(arguments: [
        "h", "example.com", "example.com:80", "example.com:", "EXAMPLE.com", "127.0.0.1", "[::1]", "[::1]:65535",
        "a_b-c~d.e", "xn--bcher-kva.example",
    ])
    func validHosts_areAccepted(_ host: String) throws {
        #expect(try #require(accepted("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")).authority == host)
    }

    @Test(arguments: [
        "", "a b", "a/b", "a,b", "u@h", "a%41", ":80", "h:65536", "h:8a", "h:-1", "h:123456", "[::1", "::1",
        "[1.2.3.4]",
        "[::1]x", "[::1%25eth0]", "[v1.a]", "h?", "h#", "h\\", "\u{e9}", "h:80:80", "[]",
    ])
    func invalidHosts_areRefused(_ host: String) {
        #expect(refusal(of: "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == .invalidHost)
        #expect(refusal(of: "GET / HTTP/1.0\r\nHost: \(host)\r\n\r\n") == .invalidHost)
    }

    @Test func host_isRequiredOnceUnlessHTTP10() throws {
        #expect(refusal(of: "GET / HTTP/1.1\r\n\r\n") == .missingHost)
        #expect(refusal(of: "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == .duplicateHost)
        #expect(refusal(of: "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n") == .duplicateHost)
        #expect(try #require(accepted("GET / HTTP/1.0\r\n\r\n")).authority == nil)
    }
}
