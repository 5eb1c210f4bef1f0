internal import Coding

/// What a proxy says about its client before the first byte of a connection: the PROXY protocol of HAProxy's
/// proxy-protocol.txt, version 1 (a line) or 2 (binary). Without any I/O.
package struct ProxyHeader: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// A client of the proxy; an IPv4-mapped address as IPv4.
        case client(SocketAddress)
        /// A client whose address is unknown or does not exist: `UNKNOWN`, `UNSPEC`, a Unix socket.
        case anonymous
        /// No client: the proxy's own connection, such as a health check (`LOCAL`).
        case proxy
    }

    package let source: Source

    /// The longest header accepted, in bytes. HAProxy's own with every TLV is a fifth of it.
    package static let maximumLength = 4096
    /// For version 1, including CRLF (§2.1).
    static let maximumLineLength = 107

    /// Parses the header at the beginning of `bytes`.
    /// - Returns: the header and its length; nil when it is incomplete: then pass the same bytes and more.
    package static func parse(_ bytes: Span<UInt8>) throws(ProxyHeaderError) -> (header: ProxyHeader, length: Int)? {
        guard bytes.count > 0 else { return nil }
        if bytes[0] == BinaryProxyHeader.signature[0] { return try BinaryProxyHeader.parse(bytes) }
        return try parseLine(bytes)
    }
}

/// Why bytes are not a PROXY header, for the log: fixed text without anything the peer sent.
package enum ProxyHeaderError: String, Error, Hashable, Sendable {
    case missing = "it does not begin with a PROXY header"
    case lineTooLong = "PROXY line too long"
    /// A line that does not end in CRLF, or has too few or too many words.
    case invalidLine = "malformed PROXY line"
    case unknownProtocol = "unknown protocol in a PROXY line"
    case invalidAddress = "invalid address in a PROXY header"
    case invalidPort = "invalid port in a PROXY header"
    case unsupportedVersion = "unsupported version of the PROXY protocol"
    case unknownCommand = "unknown command in a PROXY header"
    /// Not a family and transport that a TCP listener can have.
    case unsupportedFamily = "a PROXY header for another protocol than TCP"
    case tooShort = "PROXY header too short for its addresses"
    case tooLong = "PROXY header too long"
    case invalidFields = "malformed fields in a PROXY header"
    case wrongChecksum = "wrong checksum in a PROXY header"
}

// Version 1 (§2.1): `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443`, CRLF.
extension ProxyHeader {
    private static let carriageReturn: UInt8 = 13
    private static let lineFeed: UInt8 = 10
    private static let space: UInt8 = 32

    private static func parseLine(_ bytes: Span<UInt8>) throws(ProxyHeaderError) -> (header: ProxyHeader, length: Int)?
    {
        let prefix = Array("PROXY ".utf8)
        for index in 0..<min(prefix.count, bytes.count) where bytes[index] != prefix[index] { throw .missing }
        // The last two bytes of the longest line are its CRLF. No byte after the CR's last place is examined: beyond it
        // a line is too long, whatever follows in the same segment.
        let longest = ProxyHeader.maximumLineLength - 1
        let searched = min(bytes.count, longest)
        var end: Int?
        for index in 0..<searched {
            if bytes[index] == lineFeed { throw .invalidLine }
            if bytes[index] == carriageReturn {
                end = index
                break
            }
        }
        guard let end else {
            guard bytes.count < longest else { throw .lineTooLong }
            return nil
        }
        guard end + 1 < bytes.count else { return nil }
        guard bytes[end + 1] == lineFeed else { throw .invalidLine }
        return (ProxyHeader(source: try source(bytes.extracting(prefix.count..<end))), end + 2)
    }

    /// From the text between `PROXY ` and the end of the line.
    private static func source(_ rest: Span<UInt8>) throws(ProxyHeaderError) -> ProxyHeader.Source {
        var words: [Range<Int>] = []
        var start = 0
        for index in 0...rest.count where index == rest.count || rest[index] == space {
            words.append(start..<index)
            start = index + 1
        }
        let family = text(rest, words[0])
        // §2.1: the rest is to be ignored.
        if family == "UNKNOWN" { return .anonymous }
        guard family == "TCP4" || family == "TCP6" else { throw .unknownProtocol }
        guard words.count == 5 else { throw .invalidLine }
        let isV6 = family == "TCP6"
        let client = try address(rest, words[1], isV6: isV6)
        _ = try address(rest, words[2], isV6: isV6)
        let port = try port(rest, words[3])
        _ = try self.port(rest, words[4])
        return .client(SocketAddress(ip: client, port: port))
    }

    private static func address(
        _ rest: Span<UInt8>, _ range: Range<Int>, isV6: Bool
    ) throws(ProxyHeaderError) -> IPAddress {
        let text = rest.extracting(range)
        var hasColon = false
        for index in text.indices where text[index] == 0x3a { hasColon = true }
        guard hasColon == isV6, let address = IPAddress(text: text) else { throw .invalidAddress }
        return address
    }

    /// 0...65535 in decimal, no leading zero.
    private static func port(_ rest: Span<UInt8>, _ range: Range<Int>) throws(ProxyHeaderError) -> UInt16 {
        guard (1...5).contains(range.count) else { throw .invalidPort }
        guard range.count == 1 || rest[range.lowerBound] != 0x30 else { throw .invalidPort }
        var value: UInt32 = 0
        for index in range {
            guard rest[index] >= 0x30, rest[index] <= 0x39 else { throw .invalidPort }
            value = value * 10 + UInt32(rest[index] - 0x30)
        }
        guard let port = UInt16(exactly: value) else { throw .invalidPort }
        return port
    }

    private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
        var copy: [UInt8] = []
        for index in range { copy.append(bytes[index]) }
        return String(decoding: copy, as: UTF8.self)
    }
}

/// Version 2 (§2.2): a signature, version and command, family and transport, length, addresses, fields.
enum BinaryProxyHeader {
    static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
    private static let fixedLength = 16
    /// PP2_TYPE_CRC32C.
    private static let checksumType: UInt8 = 0x03

    static func parse(_ bytes: Span<UInt8>) throws(ProxyHeaderError) -> (header: ProxyHeader, length: Int)? {
        for index in 0..<min(signature.count, bytes.count) where bytes[index] != signature[index] { throw .missing }
        guard bytes.count > 12 else { return nil }
        guard bytes[12] >> 4 == 2 else { throw .unsupportedVersion }
        let command = bytes[12] & 0x0f
        guard command <= 1 else { throw .unknownCommand }
        guard bytes.count >= fixedLength else { return nil }
        let length = fixedLength + Int(integer(bytes, 14, octets: 2))
        guard length <= ProxyHeader.maximumLength else { throw .tooLong }
        // §2.2: for LOCAL everything but the length is ignored, including the family.
        let family = command == 0 ? nil : bytes[13]
        let addresses = try addressLength(family)
        guard length >= fixedLength + addresses else { throw .tooShort }
        guard bytes.count >= length else { return nil }
        guard let family else { return (ProxyHeader(source: .proxy), length) }
        try checkFields(bytes.extracting(0..<length), from: fixedLength + addresses)
        return (ProxyHeader(source: source(bytes, family)), length)
    }

    /// §2.2: other pairs are to be rejected; datagrams cannot describe a TCP connection.
    private static func addressLength(_ family: UInt8?) throws(ProxyHeaderError) -> Int {
        switch family {
        case nil, 0x00: return 0
        case 0x11: return 12
        case 0x21: return 36
        case 0x31: return 216
        default: throw .unsupportedFamily
        }
    }

    private static func source(_ bytes: Span<UInt8>, _ family: UInt8) -> ProxyHeader.Source {
        switch family {
        case 0x11:
            let address = IPAddress.v4(UInt32(truncatingIfNeeded: integer(bytes, 16, octets: 4)))
            return .client(SocketAddress(ip: address, port: UInt16(truncatingIfNeeded: integer(bytes, 24, octets: 2))))
        case 0x21:
            let address = IPAddress.v6(integer(bytes, 16, octets: 8), integer(bytes, 24, octets: 8))
            let port = UInt16(truncatingIfNeeded: integer(bytes, 48, octets: 2))
            return .client(SocketAddress(ip: address.normalized, port: port))
        default: return .anonymous
        }
    }

    /// §2.2.2: type, length, value, until the header ends. A checksum must be right; other fields are skipped.
    private static func checkFields(_ header: Span<UInt8>, from start: Int) throws(ProxyHeaderError) {
        var position = start
        var checksum: Int?
        while position < header.count {
            guard position + 3 <= header.count else { throw .invalidFields }
            let length = Int(integer(header, position + 1, octets: 2))
            guard position + 3 + length <= header.count else { throw .invalidFields }
            if header[position] == checksumType {
                guard length == 4, checksum == nil else { throw .invalidFields }
                checksum = position + 3
            }
            position += 3 + length
        }
        guard let checksum else { return }
        guard crc32c(header, zeroing: checksum..<(checksum + 4)) == UInt32(integer(header, checksum, octets: 4)) else {
            throw .wrongChecksum
        }
    }

    /// Of `bytes`, with those in `range` taken as zero (RFC 3720 appendix B.4; bit by bit, since few proxies send it).
    private static func crc32c(_ bytes: Span<UInt8>, zeroing range: Range<Int>) -> UInt32 {
        var value = UInt32.max
        for index in bytes.indices {
            value ^= UInt32(range.contains(index) ? 0 : bytes[index])
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82f6_3b78 : value >> 1 }
        }
        return ~value
    }

    /// Big-endian, at most eight octets.
    private static func integer(_ bytes: Span<UInt8>, _ offset: Int, octets: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in offset..<(offset + octets) { value = value << 8 | UInt64(bytes[index]) }
        return value
    }
}

/// Why a connection has no address from the PROXY protocol.
package enum ProxyHeaderFailure: Error, Hashable, Sendable {
    case header(ProxyHeaderError)
    /// The stream ended before the header did. Health checks that only connect end after no bytes.
    case ended(afterBytes: Bool)
    case stream(StreamError)
    case tooManyConnections
}

extension SocketStream {
    /// Reads exactly the PROXY header, and sets `peer`. Within the stream's deadline; the caller closes on failure.
    ///
    /// Input is peeked in the socket (MSG_PEEK) until the header is complete, and only the header is consumed: OpenSSL
    /// or the HTTP parser finds the rest where it expects it.
    package func readProxyHeader() async throws(ProxyHeaderFailure) {
        let (header, length) = try await peekProxyHeader()
        do throws(StreamError) {
            var taken = [UInt8](repeating: 0, count: length)
            var count = 0
            while count < length {
                if let more = try tryReading(into: &taken, at: count) {
                    guard more > 0 else { throw .aborted }
                    count += more
                } else {
                    try await waitUntilReadable()
                }
            }
        } catch {
            throw .stream(error)
        }
        guard introduce(header.source) else { throw .tooManyConnections }
    }

    private func peekProxyHeader() async throws(ProxyHeaderFailure) -> (header: ProxyHeader, length: Int) {
        var scratch = loop.buffers.acquire()
        defer { loop.buffers.release(scratch) }
        // Until a byte has arrived, draining may end the wait; `waitUntilReadable` ends that when one has.
        isIdle = true
        defer { isIdle = false }
        var seen = 0
        while true {
            // Read before peeking: what had arrived when the peer hung up is then included.
            let isLast = peerHasClosed
            if let count = try await translating(try tryPeeking(into: &scratch), ProxyHeaderFailure.stream) {
                let whole = try await translating(
                    try ProxyHeader.parse(scratch.span.extracting(0..<count)), ProxyHeaderFailure.header)
                if let whole { return whole }
                seen = max(seen, count)
                if count == 0 || isLast { throw .ended(afterBytes: seen > 0) }
            }
            markUnreadable()
            try await translating(try await waitUntilReadable(), ProxyHeaderFailure.stream)
        }
    }
}
