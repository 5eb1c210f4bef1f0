internal import Coding

/// Extracts the content of a message from its framing (RFC 9112 §6 and §7.1), resumable at any byte.
///
/// Chunk extensions are skipped: nobody acts on them. Trailer fields are kept apart, for `makeTrailers`.
package struct BodyDecoder: Sendable {
    private enum State: UInt8 {
        case complete
        case length, untilClose
        case sizeStart, size, sizeBlank, extensions, sizeLineFeed
        case data, dataCarriageReturn, dataLineFeed
        case trailerStart, trailerName, trailerValue, trailerLineFeed, finalLineFeed
    }

    private let limits: WireLimits
    private var state: State
    /// Remaining bytes of the current chunk, or of the whole content.
    private var remaining = 0
    /// Decoded bytes so far.
    private var received = 0
    private var sizeDigits = 0
    /// Bytes of the current chunk line, then of the trailer section.
    private var lineBytes = 0
    private var extensionBytes = 0
    private var extensions = ChunkExtensionScanner()
    /// The trailer section as sent; without one, nothing is allocated.
    private(set) var trailerSection: [UInt8] = []
    private var trailerCount = 0

    package init(framing: BodyFraming, limits: WireLimits = WireLimits()) {
        self.limits = limits
        switch framing {
        case .none: state = .complete
        case .length(let count):
            remaining = count
            state = count > 0 ? .length : .complete
        case .chunked: state = .sizeStart
        case .untilClose: state = .untilClose
        }
    }

    /// Whether the content has ended; later bytes belong to the next message.
    package var isComplete: Bool { state == .complete }

    /// The peer closed the connection: the end of content that lasts until then, too early for any other.
    package mutating func end() throws(WireError) {
        if state == .untilClose { state = .complete }
        guard state == .complete else { throw .endedEarly }
    }

    /// Decodes the content in `input` and appends it to `output`.
    /// - Returns: the number of bytes used: all of them unless the content is complete.
    package mutating func decode(_ input: Span<UInt8>, into output: inout [UInt8]) throws(WireError) -> Int {
        var index = 0
        while index < input.count, state != .complete {
            switch state {
            case .complete: break
            case .length, .data, .untilClose: index += try consume(input, from: index, into: &output)
            case .sizeStart, .size, .sizeBlank, .extensions, .sizeLineFeed:
                lineBytes += 1
                guard lineBytes <= limits.chunkLine else { throw .chunkLineTooLong }
                try readSizeLine(input[index])
                index += 1
            case .dataCarriageReturn:
                guard input[index] == ASCII.carriageReturn else { throw .invalidChunkEnd }
                state = .dataLineFeed
                index += 1
            case .dataLineFeed:
                guard input[index] == ASCII.lineFeed else { throw .invalidChunkEnd }
                state = .sizeStart
                index += 1
            case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed, .finalLineFeed:
                lineBytes += 1
                guard lineBytes <= limits.trailerBlock else { throw .trailerTooLarge }
                try readTrailer(input[index])
                if state != .finalLineFeed, state != .complete { trailerSection.append(input[index]) }
                index += 1
            }
        }
        return index
    }

    private mutating func consume(
        _ input: Span<UInt8>, from start: Int, into output: inout [UInt8]
    ) throws(WireError) -> Int {
        let available = input.count - start
        let count = state == .untilClose ? available : min(available, remaining)
        guard count <= limits.body - received else { throw .bodyTooLarge }
        received += count
        output.append(addingCapacity: count) { (target: inout OutputSpan<UInt8>) in
            for index in start..<start + count { target.append(input[index]) }
        }
        if state != .untilClose {
            remaining -= count
            if remaining == 0 { state = state == .data ? .dataCarriageReturn : .complete }
        }
        return count
    }

    /// `chunk-size [ chunk-ext ] CRLF` (RFC 9112 §7.1).
    private mutating func readSizeLine(_ byte: UInt8) throws(WireError) {
        switch state {
        case .sizeStart, .size:
            if let digit = Hexadecimal.value(of: byte) {
                // Sixteen digits fill 64 bits; another would wrap somewhere.
                guard sizeDigits < 16, remaining <= Int.max >> 4 else { throw .invalidChunkSize }
                remaining = remaining << 4 | Int(digit)
                sizeDigits += 1
                state = .size
                return
            }
            guard state == .size else { throw .invalidChunkSize }
            // The size is known now: refuse too large a chunk before its first byte.
            guard remaining <= limits.body - received else { throw .bodyTooLarge }
            try endSize(byte)
        case .sizeBlank:
            // RFC 9112 §7.1.1: whitespace is accepted only before the semicolon.
            guard byte != ASCII.carriageReturn else { throw .invalidChunkSize }
            try endSize(byte)
        case .extensions:
            extensionBytes += 1
            guard extensionBytes <= limits.chunkExtensions else { throw .chunkExtensionsTooLarge }
            if try extensions.read(byte) { state = .sizeLineFeed }
        default:
            guard byte == ASCII.lineFeed else { throw .bareCarriageReturn }
            state = remaining > 0 ? .data : .trailerStart
            lineBytes = 0
            sizeDigits = 0
        }
    }

    private mutating func endSize(_ byte: UInt8) throws(WireError) {
        switch byte {
        case ASCII.carriageReturn: state = .sizeLineFeed
        case ASCII.semicolon:
            extensions = ChunkExtensionScanner()
            state = .extensions
        case ASCII.space, ASCII.tab: state = .sizeBlank
        case ASCII.lineFeed: throw .bareLineFeed
        default: throw .invalidChunkSize
        }
    }

    /// Trailer fields follow the grammar of header fields (RFC 9112 §7.1.2).
    private mutating func readTrailer(_ byte: UInt8) throws(WireError) {
        switch state {
        case .trailerStart:
            if byte == ASCII.carriageReturn {
                state = .finalLineFeed
            } else if ByteClass.token.contains(byte) {
                guard trailerCount < limits.fieldCount else { throw .tooManyFields }
                trailerCount += 1
                state = .trailerName
            } else {
                throw byte == ASCII.lineFeed ? .bareLineFeed : .invalidTrailer
            }
        case .trailerName:
            if byte == ASCII.colon {
                state = .trailerValue
            } else if !ByteClass.token.contains(byte) {
                throw byte == ASCII.lineFeed ? .bareLineFeed : .invalidTrailer
            }
        case .trailerValue:
            if byte == ASCII.carriageReturn {
                state = .trailerLineFeed
            } else if !ByteClass.isFieldValue(byte) {
                throw byte == ASCII.lineFeed ? .bareLineFeed : .invalidTrailer
            }
        default:
            guard byte == ASCII.lineFeed else { throw .bareCarriageReturn }
            state = state == .finalLineFeed ? .complete : .trailerStart
        }
    }
}

/// Reads the extensions of one chunk-size line, from after their first semicolon to the CR that ends the line:
/// `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )` (RFC 9112 §7.1.1).
///
/// Nobody acts on them, but the grammar is enforced: where one reader guesses, another guesses differently, and they
/// disagree about where the chunk begins.
struct ChunkExtensionScanner: Sendable {
    private enum State: UInt8 {
        case nameStart, name, nameBlank
        case valueStart, value, quoted, escaped, valueEnd, valueBlank
    }

    private var state = State.nameStart

    /// Reads one byte.
    /// - Returns: whether it was the CR after a complete extension.
    mutating func read(_ byte: UInt8) throws(WireError) -> Bool {
        switch state {
        case .name where ByteClass.token.contains(byte), .value where ByteClass.token.contains(byte): break
        case .nameStart where ByteClass.token.contains(byte): state = .name
        case .valueStart where ByteClass.token.contains(byte): state = .value
        case .nameStart where ByteClass.isBlank(byte), .valueStart where ByteClass.isBlank(byte): break
        case .valueStart where byte == ASCII.quote: state = .quoted
        case .quoted where byte == ASCII.quote: state = .valueEnd
        case .quoted where byte == ASCII.backslash: state = .escaped
        case .quoted where ByteClass.isFieldValue(byte), .escaped where ByteClass.isFieldValue(byte):
            state = .quoted
        case .name, .nameBlank, .value, .valueEnd, .valueBlank: return try endWord(byte)
        default: throw Self.error(byte)
        }
        return false
    }

    /// What may follow a name or a value.
    private mutating func endWord(_ byte: UInt8) throws(WireError) -> Bool {
        let isName = state == .name || state == .nameBlank
        switch byte {
        case ASCII.semicolon: state = .nameStart
        case ASCII.equals where isName: state = .valueStart
        case ASCII.space, ASCII.tab: state = isName ? .nameBlank : .valueBlank
        // Whitespace must be followed by something.
        case ASCII.carriageReturn where state != .nameBlank && state != .valueBlank: return true
        default: throw Self.error(byte)
        }
        return false
    }

    private static func error(_ byte: UInt8) -> WireError {
        byte == ASCII.lineFeed ? .bareLineFeed : .invalidChunkExtension
    }
}
