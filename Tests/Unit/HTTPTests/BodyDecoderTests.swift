import HTTP
import HTTPTypes
import Testing

@Suite struct BodyDecoderTests {
    enum Outcome: Hashable, Sendable {
        /// The content, and how many bytes the framing took.
        case complete(String, used: Int)
        case incomplete(String)
        case refused(WireError)
    }

    private func decode(
        _ pieces: [[UInt8]], _ framing: BodyFraming, _ limits: WireLimits, end: Bool = false
    ) -> Outcome {
        var decoder = BodyDecoder(framing: framing, limits: limits)
        var output: [UInt8] = []
        var used = 0
        do throws(WireError) {
            for piece in pieces where !decoder.isComplete {
                used += try decoder.decode(piece.span, into: &output)
            }
            if end { try decoder.end() }
        } catch {
            return .refused(error)
        }
        let text = String(decoding: output, as: UTF8.self)
        return decoder.isComplete ? .complete(text, used: used) : .incomplete(text)
    }

    /// Whole, in two at every byte, and byte by byte: all must agree.
    private func everyWay(
        _ text: String, _ framing: BodyFraming, _ limits: WireLimits = WireLimits(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Outcome {
        let bytes = Array(text.utf8)
        let whole = decode([bytes], framing, limits)
        for split in 0...bytes.count {
            let halves = decode([Array(bytes[..<split]), Array(bytes[split...])], framing, limits)
            #expect(halves == whole, "split at \(split)", sourceLocation: sourceLocation)
        }
        #expect(decode(bytes.map { [$0] }, framing, limits) == whole, "byte by byte", sourceLocation: sourceLocation)
        return whole
    }

    @Test func length_consumesExactlyThatMuch() {
        #expect(everyWay("hello, world", .length(5)) == .complete("hello", used: 5))
        #expect(everyWay("hell", .length(5)) == .incomplete("hell"))
        #expect(everyWay("x", .length(0)) == .complete("", used: 0))
        #expect(everyWay("x", .none) == .complete("", used: 0))
    }

    /// Which chunks are good and which are not is in the table of ConformanceTests; here, what each mistake is called.
    @Test(
        "each mistake in chunked content has its own name",
        arguments: [
            ("g\r\n", .invalidChunkSize), ("7FFFFFFFFFFFFFFF\r\n", .bodyTooLarge), ("5\nhello", .bareLineFeed),
            ("5;a\rb", .bareCarriageReturn), ("5;a=\r\n", .invalidChunkExtension), ("5\r\nhelloX", .invalidChunkEnd),
            ("0\r\nA b: x", .invalidTrailer),
        ] as [(String, WireError)])
    func chunked_isRefusedPrecisely(_ text: String, _ error: WireError) {
        #expect(everyWay(text, .chunked) == .refused(error), "\(visible(text))")
    }

    @Test func chunkedContent_passesAtItsLimitsOnly() {
        let limits = WireLimits { $0.body = 4 }
        #expect(everyWay("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", .chunked, limits) == .complete("abcd", used: 19))
        // Refused with the size line, before any of its bytes.
        #expect(everyWay("2\r\nab\r\n3\r", .chunked, limits) == .refused(.bodyTooLarge))
        #expect(everyWay("5\r", .chunked, limits) == .refused(.bodyTooLarge))
        let line = WireLimits { $0.chunkLine = 10 }
        #expect(everyWay("1;abcdef\r\nx\r\n0\r\n\r\n", .chunked, line) == .complete("x", used: 18))
        #expect(everyWay("1;abcdefg\r\nx", .chunked, line) == .refused(.chunkLineTooLong))
        #expect(WireError.chunkLineTooLong.status == 400)
        let extensions = WireLimits { $0.chunkExtensions = 8 }
        #expect(everyWay("1;abc\r\nx\r\n0;abc\r\n\r\n", .chunked, extensions) == .complete("x", used: 19))
        #expect(everyWay("1;abc\r\nx\r\n0;abcd\r\n\r\n", .chunked, extensions) == .refused(.chunkExtensionsTooLarge))
        let block = WireLimits { $0.trailerBlock = 8 }
        #expect(everyWay("0\r\nA: b\r\n\r\n", .chunked, block) == .complete("", used: 11))
        #expect(everyWay("0\r\nA: bc\r\n\r\n", .chunked, block) == .refused(.trailerTooLarge))
        #expect(WireError.trailerTooLarge.status == 431)
        let count = WireLimits { $0.fieldCount = 2 }
        #expect(everyWay("0\r\na:\r\nb:\r\n\r\n", .chunked, count) == .complete("", used: 13))
        #expect(everyWay("0\r\na:\r\nb:\r\nc", .chunked, count) == .refused(.tooManyFields))
    }

    private func trailers(_ text: String, limits: WireLimits = WireLimits()) -> [String] {
        var decoder = BodyDecoder(framing: .chunked, limits: limits)
        var output: [UInt8] = []
        for byte in text.utf8 {
            let piece = [byte]
            _ = try? decoder.decode(piece.span, into: &output)
        }
        return decoder.makeTrailers().map { "\($0.name.rawName): \($0.value)" }
    }

    @Test func trailers_areKeptWithoutForbiddenFields() {
        #expect(trailers("0\r\n\r\n") == [])
        #expect(trailers("0\r\nA: b \r\nHost: h\r\nC:\r\na: d\r\n\r\n") == ["A: b", "C: ", "a: d"])
        #expect(trailers("0\r\nA: b\r\n") == [], "not before the end")
    }

    @Test func untilClose_endsWithTheConnection() {
        let limits = WireLimits { $0.body = 5 }
        #expect(decode([Array("hello".utf8)], .untilClose, limits) == .incomplete("hello"))
        #expect(decode([Array("hello".utf8)], .untilClose, limits, end: true) == .complete("hello", used: 5))
        #expect(decode([Array("hello!".utf8)], .untilClose, limits) == .refused(.bodyTooLarge))
    }

    @Test func earlyEnd_isRefused() {
        #expect(decode([Array("hell".utf8)], .length(5), WireLimits(), end: true) == .refused(.endedEarly))
        #expect(decode([Array("0\r\n".utf8)], .chunked, WireLimits(), end: true) == .refused(.endedEarly))
    }
}
