package import HTTPTypes

/// A parsed response head, as ranges in the bytes it was parsed from.
package struct ResponseHead: Sendable {
    /// 200...599: interim responses are skipped.
    package internal(set) var status = 0
    package internal(set) var minorVersion: UInt8 = 1
    package internal(set) var fields: [FieldRange] = []
    package internal(set) var framing = BodyFraming.none
    /// Whether the connection may be used again once the content has been read.
    package internal(set) var keepAlive = true

    package init() {}

    /// The fields in HTTPTypes' terms, in order, without merging duplicates.
    package func makeFields(_ bytes: Span<UInt8>) -> HTTPFields {
        var result = HTTPFields()
        result.reserveCapacity(fields.count)
        for field in fields {
            if let name = field.name(in: bytes) {
                result.append(HTTPField(name: name, value: field.value.string(in: bytes)))
            }
        }
        return result
    }
}

/// Parses the heads of HTTP/1.x responses (RFC 9112 §4–§6) without any I/O; skips interim responses. Pass everything
/// buffered since the first byte of the response, and the same bytes and more when it needs more.
package struct ResponseParser: Sendable {
    /// More interim responses than any server we talk to sends.
    static let maximumInterimResponses = 8

    private enum Phase: UInt8 {
        case statusLine, fields, complete
    }

    private let limits: WireLimits
    private let isHead: Bool
    private var phase = Phase.statusLine
    private var line = StatusLineScanner()
    private var scanner = FieldLineScanner()
    private var semantics = FieldSemantics()
    private var blockLimit = 0
    private var interimResponses = 0
    /// Valid after `parse` returned a length.
    package private(set) var head = ResponseHead()

    /// - Parameter isHead: whether the request was a HEAD, whose response has no content whatever its fields say.
    package init(limits: WireLimits, isHead: Bool) {
        self.limits = limits
        self.isHead = isHead
    }

    /// Continues parsing.
    /// - Returns: the length up to the end of the final head; nil when more bytes are needed.
    package mutating func parse(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        while phase != .complete {
            if phase == .statusLine {
                guard try line.parse(bytes, maximum: limits.requestLine) else { return nil }
                scanner.start(at: line.position)
                blockLimit = line.position + limits.headerBlock
                phase = .fields
            }
            switch try scanner.next(bytes, limit: blockLimit) {
            case .field:
                guard head.fields.count < limits.fieldCount else { throw .tooManyFields }
                head.fields.append(scanner.last)
                try record(scanner.last, bytes)
            case .end: try finish()
            case .needsMore: return nil
            }
        }
        return scanner.position
    }

    private mutating func record(_ field: FieldRange, _ bytes: Span<UInt8>) throws(WireError) {
        // Content fields of a 1xx or 204 are ignored: there is no content (RFC 9112 §6.3). `Connection` of a 204 is not
        // (§9.6): a request on a connection that its peer is about to close would get no answer.
        guard line.status >= 200, line.status != 204 || field.known == .connection else { return }
        switch field.known {
        case .contentLength:
            // The length in a response to HEAD, or in a 304, is not that of this response: no limit applies to it.
            let hasContent = !isHead && line.status != 304
            try semantics.recordContentLength(bytes, field.value, maximum: hasContent ? limits.body : .max)
        case .transferEncoding:
            try semantics.recordTransferEncoding(bytes, field.value, minorVersion: line.minorVersion)
        case .connection: try semantics.recordConnection(bytes, field.value)
        default: return
        }
    }

    private mutating func finish() throws(WireError) {
        if line.status < 200 {
            // RFC 9110 §15.2: any number of interim responses, which we skip; we never request an upgrade.
            guard line.status != 101 else { throw .unexpectedSwitchingProtocols }
            interimResponses += 1
            guard interimResponses <= Self.maximumInterimResponses else { throw .tooManyInterimResponses }
            head.fields.removeAll(keepingCapacity: true)
            semantics = FieldSemantics()
            line.start(at: scanner.position)
            phase = .statusLine
            return
        }
        head.status = line.status
        head.minorVersion = line.minorVersion
        if isHead || line.status == 204 || line.status == 304 {
            head.framing = .none
        } else if semantics.isChunked {
            head.framing = .chunked
        } else if let length = semantics.contentLength {
            head.framing = length > 0 ? .length(length) : .none
        } else {
            head.framing = .untilClose
        }
        head.keepAlive = semantics.keepAlive(minorVersion: line.minorVersion) && head.framing != .untilClose
        phase = .complete
    }
}

/// Reads `HTTP-version SP status-code SP [ reason-phrase ] CRLF` (RFC 9112 §4), resumable at any byte.
struct StatusLineScanner: Sendable {
    private(set) var position = 0
    private(set) var status = 0
    private(set) var minorVersion: UInt8 = 1
    private var lineStart = 0
    private var sawCarriageReturn = false

    mutating func start(at position: Int) {
        self.position = position
        lineStart = position
        status = 0
        sawCarriageReturn = false
    }

    mutating func parse(_ bytes: Span<UInt8>, maximum: Int) throws(WireError) -> Bool {
        while position < bytes.count {
            let offset = position - lineStart
            guard offset < maximum else { throw .requestLineTooLong }
            let byte = bytes[position]
            position += 1
            if sawCarriageReturn {
                guard byte == ASCII.lineFeed else { throw .bareCarriageReturn }
                return true
            }
            if offset < 13 {
                try check(byte, at: offset)
            } else if byte == ASCII.carriageReturn {
                sawCarriageReturn = true
            } else if !ByteClass.isFieldValue(byte) {
                throw byte == ASCII.lineFeed ? .bareLineFeed : .invalidStatusLine
            }
        }
        guard position - lineStart < maximum else { throw .requestLineTooLong }
        return false
    }

    private mutating func check(_ byte: UInt8, at offset: Int) throws(WireError) {
        switch offset {
        case 0...6:
            guard byte == "HTTP/1.".utf8[at: offset] else { throw .invalidStatusLine }
        case 7:
            guard byte >= ASCII.zero, byte <= ASCII.nine else { throw .invalidStatusLine }
            minorVersion = min(byte - ASCII.zero, 1)
        case 8:
            guard byte == ASCII.space else { throw .invalidStatusLine }
        case 9...11:
            // RFC 9110 §15: 100...599; anything else is invalid.
            guard byte >= (offset == 9 ? 0x31 : ASCII.zero), byte <= (offset == 9 ? 0x35 : ASCII.nine) else {
                throw .invalidStatusLine
            }
            status = status * 10 + Int(byte - ASCII.zero)
        default:
            if byte == ASCII.carriageReturn {
                // Widely sent without the space that RFC 9112 §4 requires when the phrase is empty.
                sawCarriageReturn = true
            } else if byte != ASCII.space {
                throw .invalidStatusLine
            }
        }
    }
}

extension String.UTF8View {
    fileprivate subscript(at offset: Int) -> UInt8 { self[index(startIndex, offsetBy: offset)] }
}
