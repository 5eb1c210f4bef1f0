import HTTP
import Testing

/// What a request head says, copied out of its bytes so that two can be compared.
struct ParsedRequest: Hashable, Sendable {
    var length = 0
    var method = ""
    var target = ""
    var path = ""
    var query: String?
    var authority: String?
    var minorVersion: UInt8 = 1
    var fields: [String] = []
    var framing = BodyFraming.none
    var keepAlive = true
    var expectsContinue = false

    init(_ head: RequestHead, _ bytes: [UInt8], length: Int) {
        self.length = length
        method = head.methodRange.string(in: bytes.span)
        target = head.target.string(in: bytes.span)
        path = head.path.string(in: bytes.span)
        query = head.query?.string(in: bytes.span)
        authority = head.authority?.string(in: bytes.span)
        minorVersion = head.minorVersion
        fields = head.fields.map {
            $0.name.string(in: bytes.span) + "=" + $0.value.string(in: bytes.span)
        }
        framing = head.framing
        keepAlive = head.keepAlive
        expectsContinue = head.expectsContinue
    }
}

enum ParseOutcome: Hashable, Sendable {
    case head(ParsedRequest)
    case needsMore
    case refused(WireError)
}

/// Parses what `bytes` holds up to `ends`, one prefix after the other with one parser, as a connection would.
func parse(_ bytes: [UInt8], ends: [Int], limits: WireLimits = WireLimits()) -> ParseOutcome {
    var parser = RequestParser(limits: limits)
    for end in ends {
        do throws(WireError) {
            if let length = try parser.parse(bytes.span.extracting(0..<end)) {
                return .head(ParsedRequest(parser.head, bytes, length: length))
            }
        } catch {
            return .refused(error)
        }
    }
    return .needsMore
}

/// Parses `text` whole, split in two at every byte, byte by byte, and twice in one buffer, and checks that all agree.
func parseEveryWay(
    _ text: String, limits: WireLimits = WireLimits(), sourceLocation: SourceLocation = #_sourceLocation
) -> ParseOutcome {
    parseEveryWay(Array(text.utf8), limits: limits, sourceLocation: sourceLocation)
}

func parseEveryWay(
    _ bytes: [UInt8], limits: WireLimits = WireLimits(), sourceLocation: SourceLocation = #_sourceLocation
) -> ParseOutcome {
    let whole = parse(bytes, ends: [bytes.count], limits: limits)
    for split in 0...bytes.count {
        let halves = parse(bytes, ends: [split, bytes.count], limits: limits)
        #expect(halves == whole, "split at \(split)", sourceLocation: sourceLocation)
    }
    let dripped = parse(bytes, ends: Array(0...bytes.count), limits: limits)
    #expect(dripped == whole, "byte by byte", sourceLocation: sourceLocation)
    if case .head(let head) = whole {
        checkPipelined(bytes, head, limits, sourceLocation)
    }
    return whole
}

/// Two of the same heads in one buffer give the same head twice, the second one with a parser used before.
private func checkPipelined(
    _ bytes: [UInt8], _ expected: ParsedRequest, _ limits: WireLimits, _ sourceLocation: SourceLocation
) {
    let one = Array(bytes[..<expected.length])
    let two = one + one
    var parser = RequestParser(limits: limits)
    var start = 0
    for _ in 0..<2 {
        let rest = Array(two[start...])
        let length = try? parser.parse(rest.span)
        #expect(length == expected.length, "pipelined", sourceLocation: sourceLocation)
        guard let length else { return }
        #expect(
            ParsedRequest(parser.head, rest, length: length) == expected, "pipelined", sourceLocation: sourceLocation)
        parser.reset()
        start += length
    }
}

/// The refusal of a text that must be refused, whatever the pieces it comes in.
func refusal(
    of text: String, limits: WireLimits = WireLimits(), sourceLocation: SourceLocation = #_sourceLocation
) -> WireError? {
    if case .refused(let error) = parseEveryWay(text, limits: limits, sourceLocation: sourceLocation) { return error }
    return nil
}

/// The head of a text that must parse, whatever the pieces it comes in.
func accepted(
    _ text: String, limits: WireLimits = WireLimits(), sourceLocation: SourceLocation = #_sourceLocation
) -> ParsedRequest? {
    if case .head(let head) = parseEveryWay(text, limits: limits, sourceLocation: sourceLocation) { return head }
    return nil
}

/// A name for a line of test data that shows its control characters.
func visible(_ text: String) -> String {
    text.unicodeScalars.map { $0.value < 0x20 || $0.value > 0x7e ? $0.escaped(asASCII: true) : String($0) }.joined()
}
