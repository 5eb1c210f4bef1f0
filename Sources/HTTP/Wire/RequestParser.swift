/// Parses the heads of HTTP/1.x requests (RFC 9112 §2–§6) without any I/O. One per connection, reused.
///
/// Pass everything buffered since the first byte of the request; when it needs more, pass the same bytes and more. It
/// never reads a byte twice, however the input is split.
package struct RequestParser: Sendable {
    private enum Phase: UInt8 {
        case requestLine, fields, complete
    }

    private let limits: WireLimits
    private var phase = Phase.requestLine
    private var line = RequestLineScanner()
    private var scanner = FieldLineScanner()
    private var semantics = FieldSemantics()
    private var blockLimit = 0
    private var hasHost = false
    private var saysExpect = false
    /// Valid after `parse` returned a length, until `reset`; a copy kept longer costs new storage.
    package private(set) var head = RequestHead()

    package init(limits: WireLimits = WireLimits()) { self.limits = limits }

    /// Continues parsing.
    /// - Parameter bytes: everything from the first byte of this request (or of the empty line before it).
    /// - Returns: the length of the head including the empty line, or nil when more bytes are needed.
    package mutating func parse(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        if phase == .requestLine {
            guard try line.parse(bytes, maximum: limits.requestLine, into: &head) else { return nil }
            scanner.start(at: line.position)
            blockLimit = line.position + limits.headerBlock
            phase = .fields
        }
        while phase == .fields {
            switch try scanner.next(bytes, limit: blockLimit) {
            case .field:
                guard head.fields.count < limits.fieldCount else { throw .tooManyFields }
                let field = scanner.last
                head.fields.append(field)
                if field.known != .other { try record(field, bytes) }
            case .end:
                try finish()
                phase = .complete
            case .needsMore: return nil
            }
        }
        return scanner.position
    }

    /// Prepares for the next request; keeps storage.
    package mutating func reset() {
        phase = .requestLine
        line.reset()
        semantics = FieldSemantics()
        hasHost = false
        saysExpect = false
        head.reset()
    }

    private mutating func record(_ field: FieldRange, _ bytes: Span<UInt8>) throws(WireError) {
        switch field.known {
        case .host:
            guard !hasHost else { throw .duplicateHost }
            guard HostSyntax.isValid(bytes, field.value.range) else { throw .invalidHost }
            hasHost = true
            // RFC 9112 §3.2.2: the authority of an absolute target wins over Host.
            if head.authority == nil { head.authority = field.value }
        case .contentLength: try semantics.recordContentLength(bytes, field.value, maximum: limits.body)
        case .transferEncoding:
            try semantics.recordTransferEncoding(bytes, field.value, minorVersion: head.minorVersion)
        case .connection: try semantics.recordConnection(bytes, field.value)
        case .expect:
            // RFC 9110 §10.1.1: HTTP/1.0 has no expectations.
            guard head.minorVersion > 0 else { return }
            guard equalsIgnoringCase(bytes, field.value.range, "100-continue") else { throw .unsupportedExpectation }
            saysExpect = true
        default: return
        }
    }

    private mutating func finish() throws(WireError) {
        // RFC 9112 §3.2: HTTP/1.0 may omit Host.
        guard hasHost || head.minorVersion == 0 else { throw .missingHost }
        if semantics.isChunked {
            head.framing = .chunked
        } else if let length = semantics.contentLength, length > 0 {
            head.framing = .length(length)
        }
        head.keepAlive = semantics.keepAlive(minorVersion: head.minorVersion)
        head.expectsContinue = saysExpect && head.framing != .none
    }
}
