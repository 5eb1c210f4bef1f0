/// What must come of what a client sends.
enum HTTP2Outcome: Sendable {
    /// GOAWAY with one of the codes, and the end of the connection.
    case connectionError([UInt32])
    /// RST_STREAM with the code; the connection continues.
    case streamError(UInt32, UInt32)
    /// A response with the status; the connection continues.
    case response(UInt32, Int)
    /// Nothing at all; the connection continues.
    case ignored
}

/// One case of RFC 9113: what is sent after the preface and the first SETTINGS, and what must come of it.
struct HTTP2Case: Sendable {
    var section: String
    var name: String
    var bytes: [UInt8]
    var outcome: HTTP2Outcome
    /// The bytes are all there is: no preface before them.
    var isRaw = false

    init(
        _ section: String, _ name: String, _ bytes: [UInt8], _ outcome: HTTP2Outcome, isRaw: Bool = false
    ) {
        self.section = section
        self.name = name
        self.bytes = bytes
        self.outcome = outcome
        self.isRaw = isRaw
    }

    var whole: [UInt8] { isRaw ? bytes : H2.preface + H2.settings([(1, 0)]) + H2.settingsAck + bytes }
}

extension HTTP2Case {
    static let all = connection + states + frames + settings + windows + messages + pseudo + targets + limits

    static let protocolError = HTTP2Outcome.connectionError([H2.Code.protocolError])
    private static let frameSize = HTTP2Outcome.connectionError([H2.Code.frameSize])
    private static let compression = HTTP2Outcome.connectionError([H2.Code.compression])
    private static let flowControl = HTTP2Outcome.connectionError([H2.Code.flowControl])
    static let streamClosed = HTTP2Outcome.connectionError([H2.Code.streamClosed])
    static let malformed = HTTP2Outcome.streamError(1, H2.Code.protocolError)

    private static func get(_ block: [UInt8]) -> [UInt8] { H2.headers(1, block: H2.block(H2.request()) + block) }

    // MARK: §3.4, §4

    static let connection: [HTTP2Case] = [
        HTTP2Case(
            "3.4", "HTTP/1.1 instead of a preface", Array("GET / HTTP/1.1\r\n\r\n".utf8), protocolError, isRaw: true),
        HTTP2Case("3.4", "a wrong last byte", Array(H2.preface.dropLast()) + [0x0b], protocolError, isRaw: true),
        HTTP2Case("3.4", "PING before SETTINGS", H2.preface + H2.ping(), protocolError, isRaw: true),
        HTTP2Case("3.4", "SETTINGS ACK before SETTINGS", H2.preface + H2.settingsAck, protocolError, isRaw: true),
        HTTP2Case("3.4", "HEADERS before SETTINGS", H2.preface + H2.get(1), protocolError, isRaw: true),
        HTTP2Case("4.1", "an unknown type", H2.frame(0xee, flags: 0xff, stream: 3, [1, 2, 3]), .ignored),
        HTTP2Case(
            "4.1", "an unknown type with the largest payload", H2.frame(0x20, [UInt8](repeating: 0, count: 16_384)),
            .ignored),
        HTTP2Case("4.1", "undefined flags", H2.frame(.ping, flags: 0xfe, [0, 0, 0, 0, 0, 0, 0, 0]), .ignored),
        HTTP2Case("4.1", "the reserved bit", H2.headers(0x8000_0001, H2.request()), .response(1, 200)),
        HTTP2Case(
            "4.2", "DATA of the largest size", H2.post(1) + H2.data(1, count: 16_384, ends: true), .response(1, 200)),
        HTTP2Case("4.2", "DATA beyond it", H2.post(1) + H2.data(1, count: 16_385), frameSize),
        HTTP2Case(
            "4.2", "HEADERS beyond it",
            H2.frame(
                .headers, flags: 5, stream: 1,
                H2.block(H2.request("GET", "/", [("a", String(repeating: "b", count: 16_400))]))), frameSize),
        HTTP2Case("4.2", "an unknown type beyond it", H2.frame(0xee, [UInt8](repeating: 0, count: 16_385)), frameSize),
        HTTP2Case("4.3", "index 0", get([0x80]), compression),
        HTTP2Case("4.3", "an index beyond the table", get([0xc6]), compression),
        HTTP2Case("4.3", "an integer without an end", get([0xff] + [UInt8](repeating: 0xff, count: 12)), compression),
        HTTP2Case("4.3", "a literal that is cut", get([0x10, 0x05, 0x61]), compression),
        HTTP2Case(
            "4.3", "a table beyond the limit", H2.headers(1, block: [0x3f, 0xe2, 0x1f] + H2.block(H2.request())),
            compression),
        HTTP2Case("4.3", "a table update after a field", get([0x20]), compression),
        HTTP2Case("4.3", "a smaller table", H2.headers(1, block: [0x20] + H2.block(H2.request())), .response(1, 200)),
        HTTP2Case("4.3", "Huffman padding of eight bits", get([0x10, 0x01, 0x61, 0x82, 0x1f, 0xff]), compression),
        HTTP2Case("4.3", "Huffman padding of zeros", get([0x10, 0x01, 0x61, 0x81, 0x18]), compression),
        HTTP2Case(
            "4.3", "the Huffman end of a string", get([0x10, 0x01, 0x61, 0x84, 0xff, 0xff, 0xff, 0xff]), compression),
        HTTP2Case(
            "4.3", "PRIORITY within a block", open(1) + H2.frame(.priority, stream: 1, [0, 0, 0, 0, 1]), protocolError),
        HTTP2Case("4.3", "HEADERS of another within a block", open(1) + H2.get(3), protocolError),
        HTTP2Case("4.3", "an unknown type within a block", open(1) + H2.frame(0xee, stream: 1), protocolError),
        HTTP2Case(
            "4.3", "RFC 7541 C.3.1", H2.headers(1, block: hex("828684410f7777772e6578616d706c652e636f6d")),
            .response(1, 200)),
        HTTP2Case(
            "4.3", "RFC 7541 C.3.2",
            H2.headers(1, block: hex("828684410f7777772e6578616d706c652e636f6d"))
                + H2.headers(3, block: hex("828684be58086e6f2d6361636865")), .response(3, 200)),
        HTTP2Case(
            "4.3", "RFC 7541 C.4.1", H2.headers(1, block: hex("828684418cf1e3c2e5f23a6ba0ab90f4ff")), .response(1, 200)),
        HTTP2Case(
            "4.3", "RFC 7541 C.4.3",
            H2.headers(1, block: hex("828684418cf1e3c2e5f23a6ba0ab90f4ff"))
                + H2.headers(3, block: hex("828684be5886a8eb10649cbf"))
                + H2.headers(5, block: hex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf")), .response(5, 200)),
    ]

    private static func open(_ stream: UInt32) -> [UInt8] {
        H2.frame(.headers, flags: H2.endStream, stream: stream, H2.block(H2.request()))
    }

    private static func hex(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    // MARK: §5

    static let states: [HTTP2Case] = [
        HTTP2Case("5.1", "idle: DATA", H2.data(1, "a"), protocolError),
        HTTP2Case("5.1", "idle: RST_STREAM", H2.reset(1), protocolError),
        HTTP2Case("5.1", "idle: WINDOW_UPDATE", H2.windowUpdate(1, 100), protocolError),
        HTTP2Case("5.1", "idle: CONTINUATION", H2.frame(.continuation, flags: H2.endHeaders, stream: 1), protocolError),
        HTTP2Case("5.1", "idle: PRIORITY", H2.frame(.priority, stream: 1, [0, 0, 0, 0, 1]), .ignored),
        HTTP2Case("5.1", "idle, even: DATA", H2.data(2, "a"), protocolError),
        HTTP2Case("5.1", "idle, even: WINDOW_UPDATE", H2.windowUpdate(2, 100), protocolError),
        HTTP2Case("5.1", "half-closed: DATA", H2.get(1) + H2.data(1, "a"), streamClosed),
        HTTP2Case("5.1", "half-closed: HEADERS", H2.get(1) + H2.headers(1, [("a", "b")]), streamClosed),
        HTTP2Case(
            "5.1", "half-closed: CONTINUATION", H2.get(1) + H2.frame(.continuation, flags: H2.endHeaders, stream: 1),
            protocolError),
        HTTP2Case("5.1", "half-closed: WINDOW_UPDATE", H2.get(1) + H2.windowUpdate(1, 100), .response(1, 200)),
        HTTP2Case(
            "5.1", "half-closed: PRIORITY", H2.get(1) + H2.frame(.priority, stream: 1, [0, 0, 0, 0, 1]),
            .response(1, 200)),
        HTTP2Case("5.1", "reset by the client: DATA", H2.post(1) + H2.reset(1) + H2.data(1, "a"), streamClosed),
        HTTP2Case(
            "5.1", "reset by the client: HEADERS", H2.post(1) + H2.reset(1) + H2.headers(1, [("a", "b")]), streamClosed),
        HTTP2Case(
            "5.1", "reset by the client: CONTINUATION",
            H2.post(1) + H2.reset(1) + H2.frame(.continuation, flags: H2.endHeaders, stream: 1), protocolError),
        HTTP2Case(
            "5.1", "reset by the client: WINDOW_UPDATE", H2.post(1) + H2.reset(1) + H2.windowUpdate(1, 1), .ignored),
        HTTP2Case("5.1", "reset by the client: RST_STREAM", H2.post(1) + H2.reset(1) + H2.reset(1), .ignored),
        HTTP2Case(
            "5.1", "reset by us: DATA", H2.headers(1, [(":method", "GET")], ends: false) + H2.data(1, "abc"), malformed),
        HTTP2Case(
            "5.1", "reset by us: HEADERS",
            H2.headers(1, [(":method", "GET")], ends: false) + H2.headers(1, [("a", "b")]), malformed),
        HTTP2Case(
            "5.1", "reset by us: WINDOW_UPDATE", H2.headers(1, [(":method", "GET")]) + H2.windowUpdate(1, 9), malformed),
        HTTP2Case("5.1.1", "an even number", H2.get(2), protocolError),
        HTTP2Case("5.1.1", "a number that goes back", H2.get(5) + H2.get(3), protocolError),
        HTTP2Case("5.1.1", "DATA for a number left out", H2.get(5) + H2.data(3, "a"), streamClosed),
        HTTP2Case("5.1.1", "stream 0", H2.get(0), protocolError),
        HTTP2Case("5.1.1", "a number far ahead", H2.get(101), .response(101, 200)),
        HTTP2Case("5.1.1", "the last number", H2.get(0x7fff_ffff), .response(0x7fff_ffff, 200)),
        HTTP2Case("5.1.1", "numbers in order", H2.get(1) + H2.get(3) + H2.get(9), .response(9, 200)),
        // Answers that wait for a window keep their streams open.
        HTTP2Case(
            "5.1.2", "one stream too many",
            H2.settings([(4, 0)]) + (0...128).flatMap { H2.get(UInt32($0) * 2 + 1) }, protocolError),
        HTTP2Case(
            "5.3", "PRIORITY with a dependency", H2.get(1) + H2.frame(.priority, stream: 3, [0, 0, 0, 1, 9]),
            .response(1, 200)),
        HTTP2Case(
            "5.5", "a type of an extension on a stream",
            H2.post(1) + H2.frame(0x10, stream: 1, [1]) + H2.data(1, "a", ends: true), .response(1, 200)),
        HTTP2Case(
            "5.5", "PRIORITY_UPDATE", H2.frame(0x10, [0, 0, 0, 1] + Array("u=1".utf8)) + H2.get(1), .response(1, 200)),
        HTTP2Case("5.5", "an unknown setting", H2.settings([(0xf000, 7)]), .ignored),
    ]

    // MARK: §6

    static let frames: [HTTP2Case] = [
        HTTP2Case("6.1", "DATA on stream 0", H2.data(0, "a"), protocolError),
        HTTP2Case(
            "6.1", "padding as long as the frame",
            H2.post(1) + H2.frame(.data, flags: H2.padded, stream: 1, [5, 0, 0, 0, 0]), protocolError),
        HTTP2Case(
            "6.1", "padding without its length", H2.post(1) + H2.frame(.data, flags: H2.padded, stream: 1),
            .connectionError([H2.Code.frameSize, H2.Code.protocolError])),
        HTTP2Case(
            "6.1", "padding",
            H2.post(1, [("content-length", "1")])
                + H2.frame(.data, flags: H2.padded | H2.endStream, stream: 1, [3, 0x61, 0, 0, 0]), .response(1, 200)),
        HTTP2Case(
            "6.2", "padding longer than the frame",
            H2.frame(.headers, flags: H2.padded | 5, stream: 1, [200] + H2.block(H2.request())), protocolError),
        HTTP2Case(
            "6.2", "padding",
            H2.frame(.headers, flags: H2.padded | 5, stream: 1, [2] + H2.block(H2.request()) + [0, 0]),
            .response(1, 200)),
        HTTP2Case(
            "6.2", "priority",
            H2.frame(.headers, flags: H2.priority | 5, stream: 1, [0, 0, 0, 0, 200] + H2.block(H2.request())),
            .response(1, 200)),
        HTTP2Case(
            "6.2", "priority cut short", H2.frame(.headers, flags: H2.priority | 5, stream: 1, [0, 0, 0]),
            .connectionError([H2.Code.frameSize, H2.Code.protocolError])),
        HTTP2Case("6.2", "an empty block", H2.headers(1, block: []), malformed),
        HTTP2Case("6.3", "PRIORITY on stream 0", H2.frame(.priority, [0, 0, 0, 1, 1]), protocolError),
        HTTP2Case("6.3", "PRIORITY of four bytes", H2.frame(.priority, stream: 1, [0, 0, 0, 0]), frameSize),
        HTTP2Case("6.4", "RST_STREAM on stream 0", H2.reset(0), protocolError),
        HTTP2Case(
            "6.4", "RST_STREAM of three bytes", H2.post(1) + H2.frame(.resetStream, stream: 1, [0, 0, 0]), frameSize),
        HTTP2Case(
            "6.4", "RST_STREAM of five bytes", H2.post(1) + H2.frame(.resetStream, stream: 1, [0, 0, 0, 0, 0]),
            frameSize),
        HTTP2Case("6.4", "an unknown code", H2.post(1) + H2.reset(1, 0xffff), .ignored),
        HTTP2Case(
            "6.6", "PUSH_PROMISE", H2.post(1) + H2.frame(.pushPromise, flags: H2.endHeaders, stream: 1, [0, 0, 0, 2]),
            protocolError),
        HTTP2Case("6.7", "PING on a stream", H2.frame(.ping, stream: 1, [0, 0, 0, 0, 0, 0, 0, 0]), protocolError),
        HTTP2Case("6.7", "PING of seven bytes", H2.frame(.ping, [0, 0, 0, 0, 0, 0, 0]), frameSize),
        HTTP2Case("6.7", "PING of nine bytes", H2.frame(.ping, [0, 0, 0, 0, 0, 0, 0, 0, 0]), frameSize),
        HTTP2Case("6.7", "an answer nobody asked for", H2.ping(flags: H2.acknowledge), .ignored),
        HTTP2Case("6.8", "GOAWAY on a stream", H2.frame(.goAway, stream: 1, [0, 0, 0, 0, 0, 0, 0, 0]), protocolError),
        HTTP2Case("6.8", "GOAWAY of seven bytes", H2.frame(.goAway, [0, 0, 0, 0, 0, 0, 0]), frameSize),
        HTTP2Case(
            "6.10", "CONTINUATION on stream 0", open(1) + H2.frame(.continuation, flags: H2.endHeaders), protocolError),
        HTTP2Case(
            "6.10", "CONTINUATION on another stream",
            open(1) + H2.frame(.continuation, flags: H2.endHeaders, stream: 3), protocolError),
        HTTP2Case(
            "6.10", "CONTINUATION behind the end",
            H2.post(1) + H2.frame(.continuation, flags: H2.endHeaders, stream: 1), protocolError),
        HTTP2Case(
            "6.10", "CONTINUATION behind DATA",
            H2.post(1) + H2.data(1, "a") + H2.frame(.continuation, flags: H2.endHeaders, stream: 1), protocolError),
        HTTP2Case("6.10", "DATA within a block", open(1) + H2.data(1, "a"), protocolError),
        HTTP2Case(
            "6.10", "an empty CONTINUATION", open(1) + H2.frame(.continuation, flags: H2.endHeaders, stream: 1),
            .response(1, 200)),
        HTTP2Case(
            "6.10", "three of them",
            open(1)
                + [false, false, true].flatMap {
                    H2.frame(.continuation, flags: $0 ? H2.endHeaders : 0, stream: 1, H2.block([("a", "b")]))
                }, .response(1, 200)),
        HTTP2Case(
            "6.10", "eight of them",
            open(1) + (0..<8).flatMap { H2.frame(.continuation, flags: $0 == 7 ? H2.endHeaders : 0, stream: 1) },
            .response(1, 200)),
        HTTP2Case(
            "6.10", "nine of them",
            open(1) + (0..<9).flatMap { H2.frame(.continuation, flags: $0 == 8 ? H2.endHeaders : 0, stream: 1) },
            .connectionError([H2.Code.calm])),
    ]

    static let settings: [HTTP2Case] = [
        HTTP2Case(
            "6.5", "ACK with a payload", H2.frame(.settings, flags: H2.acknowledge, [0, 0, 0, 0, 0, 0]), frameSize),
        HTTP2Case("6.5", "SETTINGS on a stream", H2.frame(.settings, stream: 1), protocolError),
        HTTP2Case("6.5", "five bytes", H2.frame(.settings, [0, 1, 0, 0, 0]), frameSize),
        HTTP2Case("6.5.2", "ENABLE_PUSH 2", H2.settings([(2, 2)]), protocolError),
        HTTP2Case("6.5.2", "ENABLE_PUSH 1", H2.settings([(2, 1)]), .ignored),
        HTTP2Case("6.5.2", "INITIAL_WINDOW_SIZE beyond 2^31-1", H2.settings([(4, 0x8000_0000)]), flowControl),
        HTTP2Case("6.5.2", "INITIAL_WINDOW_SIZE 2^31-1", H2.settings([(4, 0x7fff_ffff)]), .ignored),
        HTTP2Case("6.5.2", "MAX_FRAME_SIZE 16383", H2.settings([(5, 16_383)]), protocolError),
        HTTP2Case("6.5.2", "MAX_FRAME_SIZE 2^24", H2.settings([(5, 1 << 24)]), protocolError),
        HTTP2Case("6.5.2", "MAX_FRAME_SIZE 2^24-1", H2.settings([(5, 1 << 24 - 1)]), .ignored),
        HTTP2Case("6.5.2", "MAX_CONCURRENT_STREAMS 0", H2.settings([(3, 0)]) + H2.get(1), .response(1, 200)),
        HTTP2Case("6.5.2", "a table of 2^32-1 bytes", H2.settings([(1, .max)]) + H2.get(1), .response(1, 200)),
        HTTP2Case("6.5.2", "NO_RFC7540_PRIORITIES 2", H2.settings([(9, 2)]), protocolError),
        HTTP2Case("6.5.3", "an acknowledgement nobody waits for", H2.settingsAck, protocolError),
        HTTP2Case("6.5", "32 settings", H2.settings((0..<32).map { (0xff00 + $0, 1) }), .ignored),
        HTTP2Case(
            "6.5", "33 settings", H2.settings((0..<33).map { (0xff00 + $0, 1) }), .connectionError([H2.Code.calm])),
    ]

    static let windows: [HTTP2Case] = [
        HTTP2Case("6.9", "an increment of 0 for the connection", H2.windowUpdate(0, 0), protocolError),
        HTTP2Case("6.9", "an increment of 0 for a stream", H2.post(1) + H2.windowUpdate(1, 0), protocolError),
        HTTP2Case("6.9", "three bytes", H2.frame(.windowUpdate, [0, 0, 1]), frameSize),
        HTTP2Case("6.9.1", "a connection's window beyond 2^31-1", H2.windowUpdate(0, 0x7fff_ffff), flowControl),
        HTTP2Case(
            "6.9.1", "a stream's window beyond 2^31-1", H2.post(1) + H2.windowUpdate(1, 0x7fff_ffff),
            .streamError(1, H2.Code.flowControl)),
        HTTP2Case(
            "6.9.2", "a window beyond it by SETTINGS",
            H2.post(1) + H2.windowUpdate(1, 0x7fff_0000) + H2.settings([(4, 0x7fff_ffff)]), flowControl),
        HTTP2Case(
            "6.9.1", "more content than the window", H2.post(1) + (0..<5).flatMap { _ in H2.data(1, count: 16_384) },
            .streamError(1, H2.Code.flowControl)),
    ]
}
