import HTTP

extension FuzzTarget {
    /// A connection's worth of requests, with their content: heads by `RequestParser`, content by `BodyDecoder`, the next
    /// request behind it, as the server reads them. However the bytes are cut, the same is read. Each accepted head is
    /// held against `PlainHead`, a second reader that only knows how to split lines.
    static let request = FuzzTarget(name: "request", maximumLength: 2048) { input throws(Finding) in
        let loose = try read(input, limits: WireLimits())
        _ = try read(input, limits: tight(startLine: 40))
        return loose.firstHead
    }

    /// So small that every limit is met.
    static func tight(startLine: Int) -> WireLimits {
        WireLimits {
            $0.requestLine = startLine
            $0.headerBlock = 72
            $0.fieldCount = 3
            $0.body = 16
            $0.chunkLine = 12
            $0.chunkExtensions = 16
            $0.trailerBlock = 24
        }
    }

    private static func read(_ input: [UInt8], limits: WireLimits) throws(Finding) -> RequestTranscript {
        try readInAnyPieces(input) { ends throws(Finding) in
            try RequestTranscript(input, ends: ends, limits: limits)
        }
    }
}

/// What a connection reads from one sequence of bytes.
private struct RequestTranscript: Equatable {
    struct Message: Equatable {
        var method: [UInt8]
        var target: ByteRange
        var path: ByteRange
        var query: ByteRange?
        var authority: ByteRange?
        var minorVersion: UInt8
        var fields: [FieldRange]
        var framing: BodyFraming
        var keepAlive: Bool
        var expectsContinue: Bool
        /// Content, when all of it came.
        var content: [UInt8]?
    }

    private(set) var messages: [Message] = []
    private(set) var error: WireError?
    /// Bytes that belong to messages, or to one not yet whole. After an error it depends on the pieces.
    private(set) var used: Int?
    private(set) var firstHead: [UInt8]?

    /// - Parameter ends: how much has come at each step.
    init(_ input: [UInt8], ends: [Int], limits: WireLimits) throws(Finding) {
        var connection = Connection(limits: limits)
        for end in ends {
            do throws(WireError) {
                while try connection.advance(input, to: end) {}
            } catch {
                self.error = error
                break
            }
        }
        messages = connection.messages
        if error == nil { used = connection.start }
        firstHead = connection.heads.first.map { Array(input[$0.range]) }
        for place in connection.heads {
            let head = Array(input[place.range])
            try Self.check(place.message, head, limits: limits)
        }
    }

    /// The parser and the decoder in turn, as `ServerConnection` uses them.
    private struct Connection {
        let limits: WireLimits
        var parser: RequestParser
        var decoder: BodyDecoder?
        var content: [UInt8] = []
        var start = 0
        var messages: [Message] = []
        var heads: [(range: Range<Int>, message: Message)] = []

        init(limits: WireLimits) {
            self.limits = limits
            parser = RequestParser(limits: limits)
        }

        /// - Returns: whether there may be more to read up to `end`.
        mutating func advance(_ input: [UInt8], to end: Int) throws(WireError) -> Bool {
            let bytes = input.span.extracting(start..<end)
            if decoder == nil {
                guard let length = try parser.parse(bytes) else { return false }
                let head = parser.head
                let message = Message(
                    method: bytes.copy(head.methodRange.range), target: head.target, path: head.path, query: head.query,
                    authority: head.authority, minorVersion: head.minorVersion, fields: head.fields,
                    framing: head.framing, keepAlive: head.keepAlive, expectsContinue: head.expectsContinue,
                    content: nil)
                messages.append(message)
                heads.append((start..<(start + length), message))
                start += length
                decoder = BodyDecoder(framing: head.framing, limits: limits)
                content = []
                return true
            }
            start += try decoder?.decode(bytes, into: &content) ?? 0
            guard decoder?.isComplete == true else { return false }
            messages[messages.count - 1].content = content
            decoder = nil
            parser.reset()
            return start < end
        }
    }

    private static func check(_ message: Message, _ head: [UInt8], limits: WireLimits) throws(Finding) {
        let bytes = head.span
        try hold(head.suffix(4) == [13, 10, 13, 10], "a head that does not end in an empty line")
        try hold(message.fields.count <= limits.fieldCount, "more fields than allowed")
        let places =
            [message.target, message.path] + [message.query, message.authority].compactMap { $0 }
            + message.fields.flatMap { [$0.name, $0.value] }
        for place in places {
            try hold(place.start <= place.end && Int(place.end) <= head.count, "a place outside the head: \(place)")
        }
        let plain = PlainHead(head)
        try hold(plain.isTidy, "bare line ends, folding or control characters in \(shown(head))")
        let method = shown(message.method)
        let target = shown(bytes.copy(message.target.range))
        try hold(plain.startLine.hasPrefix("\(method) \(target) HTTP/1."), "\(plain.startLine): \(method) \(target)")
        let fields = message.fields.map { field in
            PlainHead.Field(
                name: shown(bytes.copy(field.name.range)).lowercased(), value: shown(bytes.copy(field.value.range)))
        }
        try hold(plain.fields == fields, "fields \(fields), by lines \(plain.fields)")
        try checkFraming(message, plain)
        if message.minorVersion > 0 { try hold(plain.values("host").count == 1, "HTTP/1.1 without one Host") }
    }

    /// RFC 9112 §6.3: never both, never two, and what neither says has no content.
    private static func checkFraming(_ message: Message, _ plain: PlainHead) throws(Finding) {
        let lengths = plain.values("content-length")
        let codings = plain.values("transfer-encoding")
        try hold(lengths.count + codings.count <= 1, "framed twice: \(lengths) \(codings)")
        let framing: BodyFraming
        if let coding = codings.first {
            try hold(coding.lowercased() == "chunked" && message.minorVersion > 0, "transfer coding \(coding)")
            framing = .chunked
        } else if let text = lengths.first {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(text) else {
                throw Finding("length \(text)")
            }
            framing = length == 0 ? .none : .length(length)
        } else {
            framing = .none
        }
        try hold(message.framing == framing, "framing \(message.framing), by lines \(framing)")
        try hold(!message.expectsContinue || framing != .none, "waits for content that does not come")
    }
}
