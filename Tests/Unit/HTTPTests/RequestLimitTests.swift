import HTTP
import Testing

@Suite struct RequestLimitTests {
    private let limits = WireLimits {
        $0.requestLine = 40
        $0.headerBlock = 60
        $0.fieldCount = 3
        $0.body = 10
    }

    /// `GET /aaa HTTP/1.1` CRLF of exactly `length` bytes.
    private func line(_ length: Int) -> String {
        "GET /" + String(repeating: "a", count: length - 16) + " HTTP/1.1\r\n"
    }

    @Test func requestLine_passesAtTheLimitOnly() {
        #expect(accepted(line(40) + "Host: h\r\n\r\n", limits: limits) != nil)
        #expect(refusal(of: line(41) + "Host: h\r\n\r\n", limits: limits) == .requestLineTooLong)
        #expect(WireError.requestLineTooLong.status == 414)
        #expect(refusal(of: "GET /" + String(repeating: "a", count: 35), limits: limits) == .requestLineTooLong)
        #expect(parseEveryWay("GET /" + String(repeating: "a", count: 34), limits: limits) == .needsMore)
        #expect(refusal(of: "GET /?" + String(repeating: "a", count: 34), limits: limits) == .requestLineTooLong)
        #expect(accepted("\r\n" + line(40) + "Host: h\r\n\r\n", limits: limits) != nil)
        #expect(refusal(of: "\r\n" + line(41) + "Host: h\r\n\r\n", limits: limits) == .requestLineTooLong)
    }

    @Test func headerBlock_passesAtTheLimitOnly() {
        // "Host: h" CRLF is 9, "A: " CRLF 5, the empty line 2.
        let fitting = "Host: h\r\nA: " + String(repeating: "v", count: 44) + "\r\n\r\n"
        #expect(accepted(line(40) + fitting, limits: limits) != nil)
        let larger = "Host: h\r\nA: " + String(repeating: "v", count: 45) + "\r\n\r\n"
        #expect(refusal(of: line(40) + larger, limits: limits) == .headerTooLarge)
        #expect(WireError.headerTooLarge.status == 431)
    }

    @Test(arguments: ["Host: h\r\nA: ", "Host: h\r\nA", "Host: h\r\nA:"])
    func headerBlock_isRefusedBeforeItEnds(_ start: String) {
        let pad = start.hasSuffix(":") ? " " : "v"
        let full = start + String(repeating: pad, count: 60 - start.utf8.count)
        #expect(refusal(of: line(30) + full, limits: limits) == .headerTooLarge)
        #expect(parseEveryWay(line(30) + full.dropLast(), limits: limits) == .needsMore)
    }

    @Test func fieldCountAndContentLength_passAtTheLimitOnly() throws {
        #expect(accepted(line(20) + "Host: h\r\nA: 1\r\nB: 2\r\n\r\n", limits: limits) != nil)
        #expect(refusal(of: line(20) + "Host: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n", limits: limits) == .tooManyFields)
        #expect(WireError.tooManyFields.status == 431)
        let head = "Host: h\r\nContent-Length: "
        #expect(try #require(accepted(line(20) + head + "10\r\n\r\n", limits: limits)).framing == .length(10))
        #expect(refusal(of: line(20) + head + "11\r\n", limits: limits) == .bodyTooLarge)
        #expect(WireError.bodyTooLarge.status == 413)
    }

    @Test func defaults_areTheDocumentedOnes() {
        let limits = WireLimits()
        #expect(limits.requestLine == 8192)
        #expect(limits.headerBlock == 16_384)
        #expect(limits.fieldCount == 100)
        #expect(limits.body == 65_536)
        #expect(limits.chunkLine == 256)
        #expect(limits.trailerBlock == 4096)
    }
}
