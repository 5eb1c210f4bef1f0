import HTTP
import HTTPTypes
import Testing

@Suite struct RequestFieldTests {
    @Test func errors_areReportedWithTheirLine() {
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
    func similarNames_areOthers(_ name: String) {
        var parser = RequestParser()
        let bytes = Array("GET / HTTP/1.0\r\n\(name): 5\r\n\r\n".utf8)
        if (try? parser.parse(bytes.span)) != nil {
            #expect(parser.head.fields.map(\.known) == [.other])
            #expect(parser.head.framing == .none)
        }
    }
}
