import HTTP
import HTTPTypes
import Testing

@Suite struct ResponseParserTests {
    struct Parsed: Hashable, Sendable {
        var status = 0
        var framing = BodyFraming.none
        var keepAlive = true
        var length = 0
        var fields: [String] = []
    }

    private enum Outcome: Hashable {
        case head(Parsed)
        case needsMore
        case refused(WireError)
    }

    private func parse(_ bytes: [UInt8], _ ends: [Int], _ limits: WireLimits, _ isHead: Bool) -> Outcome {
        var parser = ResponseParser(limits: limits, isHead: isHead)
        for end in ends {
            do throws(WireError) {
                guard let length = try parser.parse(bytes.span.extracting(0..<end)) else { continue }
                let head = parser.head
                let fields = head.makeFields(bytes.span).map { "\($0.name.canonicalName)=\($0.value)" }
                return .head(
                    Parsed(
                        status: head.status, framing: head.framing, keepAlive: head.keepAlive, length: length,
                        fields: fields))
            } catch {
                return .refused(error)
            }
        }
        return .needsMore
    }

    private func everyWay(
        _ text: String, limits: WireLimits = WireLimits(), isHead: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Outcome {
        let bytes = Array(text.utf8)
        let whole = parse(bytes, [bytes.count], limits, isHead)
        for split in 0...bytes.count {
            let halves = parse(bytes, [split, bytes.count], limits, isHead)
            #expect(halves == whole, "split at \(split)", sourceLocation: sourceLocation)
        }
        #expect(parse(bytes, Array(0...bytes.count), limits, isHead) == whole, sourceLocation: sourceLocation)
        return whole
    }

    private func head(_ text: String, isHead: Bool = false) -> Parsed? {
        if case .head(let head) = everyWay(text, isHead: isHead) { return head }
        return nil
    }

    @Test func response_isSplit() {
        let text = "HTTP/1.1 200 OK then\r\nContent-Type: a/b\r\nX-Own:  c \r\nContent-Length: 5\r\n\r\nhello"
        #expect(
            head(text)
                == Parsed(
                    status: 200, framing: .length(5), keepAlive: true, length: text.utf8.count - 5,
                    fields: ["content-type=a/b", "x-own=c", "content-length=5"]))
    }

    @Test(
        arguments: [
            ("200 OK", "Content-Length: 0", .none, true), ("200 OK", "Transfer-Encoding: chunked", .chunked, true),
            ("200 OK", "A: b", .untilClose, false),
            ("200 ", "Connection: close\r\nContent-Length: 1", .length(1), false),
            ("204 No Content", "A: b", .none, true), ("204 No Content", "Content-Length: 5", .none, true),
            ("204 No Content", "Connection: close", .none, false),
            ("304 Not Modified", "Connection: close", .none, false),
            ("304 Not Modified", "Content-Length: 500", .none, true), ("404 Not Found", "A: b", .untilClose, false),
            ("200", "Content-Length: 3", .length(3), true),
        ] as [(String, String, BodyFraming, Bool)])
    func framing_followsStatusAndFields(_ status: String, _ fields: String, _ framing: BodyFraming, _ keepAlive: Bool) {
        let parsed = head("HTTP/1.1 \(status)\r\n\(fields)\r\n\r\n")
        #expect(parsed?.framing == framing)
        #expect(parsed?.keepAlive == keepAlive)
    }

    @Test func responseToHead_hasNoContent() {
        #expect(head("HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", isHead: true)?.framing == BodyFraming.none)
        #expect(
            head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", isHead: true)?.framing == BodyFraming.none)
    }

    @Test func http10_closesUnlessTold() {
        #expect(head("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n")?.keepAlive == false)
        #expect(head("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n")?.keepAlive == true)
    }

    @Test func interimResponses_areSkippedAndBounded() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nLink: x\r\n\r\n"
        let parsed = head(text + "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n")
        #expect(parsed?.status == 204)
        #expect(parsed?.fields == ["a=b"])
        #expect(everyWay(text) == .needsMore)
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        #expect(head(String(repeating: interim, count: 8) + "HTTP/1.1 204 No Content\r\n\r\n")?.status == 204)
        #expect(everyWay(String(repeating: interim, count: 9)) == .refused(.tooManyInterimResponses))
        #expect(everyWay("HTTP/1.1 101 Switching Protocols\r\n\r\n") == .refused(.unexpectedSwitchingProtocols))
    }

    @Test(
        arguments: [
            ("HTTP/2.0 200 OK\r\n", .invalidStatusLine), ("http/1.1 200 OK\r\n", .invalidStatusLine),
            ("HTTP/1.1  200 OK\r\n", .invalidStatusLine), ("HTTP/1.1 20 OK\r\n", .invalidStatusLine),
            ("HTTP/1.1 2000 OK\r\n", .invalidStatusLine), ("HTTP/1.1 099 OK\r\n", .invalidStatusLine),
            ("HTTP/1.1 600 OK\r\n", .invalidStatusLine), ("HTTP/1.1 200 O\u{0}K\r\n", .invalidStatusLine),
            ("\r\nHTTP/1.1 200 OK\r\n", .invalidStatusLine), ("<html>", .invalidStatusLine),
            ("HTTP/1.1 200 OK\n", .bareLineFeed), ("HTTP/1.1 200 OK\rX", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA: b\n", .bareLineFeed), ("HTTP/1.1 200 OK\r\nA: b\r\n c", .obsoleteFolding),
            ("HTTP/1.1 200 OK\r\nA : b", .spaceBeforeColon),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n", .duplicateContentLength),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
                .contentLengthWithTransferEncoding
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n", .unknownTransferCoding),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", .transferEncodingOnHTTP10),
            ("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n", .bodyTooLarge),
        ] as [(String, WireError)])
    func malformedResponses_areRefused(_ text: String, _ error: WireError) {
        #expect(everyWay(text) == .refused(error), "\(visible(text))")
    }

    @Test func statusLine_passesAtTheLimitOnly() {
        let limits = WireLimits { $0.requestLine = 20 }
        #expect(everyWay("HTTP/1.1 204 abcde\r\n\r\n", limits: limits) != .refused(.requestLineTooLong))
        #expect(everyWay("HTTP/1.1 204 abcdef\r\n\r\n", limits: limits) == .refused(.requestLineTooLong))
        #expect(everyWay("HTTP/1.1 204 abcdefg", limits: limits) == .refused(.requestLineTooLong))
    }

    @Test func headers_passAtTheLimitOnly() {
        let limits = WireLimits {
            $0.headerBlock = 10
            $0.fieldCount = 1
        }
        #expect(everyWay("HTTP/1.1 204 \r\nA: bcd\r\n\r\n", limits: limits) != .refused(.headerTooLarge))
        #expect(everyWay("HTTP/1.1 204 \r\nA: bcde\r\n\r\n", limits: limits) == .refused(.headerTooLarge))
        #expect(everyWay("HTTP/1.1 204 \r\nA:\r\nB:\r\n\r\n", limits: limits) == .refused(.tooManyFields))
    }
}
