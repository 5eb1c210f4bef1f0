/// Frames and field blocks written and read by hand, from the RFCs: the other side of these tests shares nothing with
/// nghttp2.
enum H2 {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    enum Kind: UInt8 {
        case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    static let endStream: UInt8 = 0x1
    static let acknowledge: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20

    enum Code {
        static let protocolError: UInt32 = 1
        static let flowControl: UInt32 = 3
        static let settingsTimeout: UInt32 = 4
        static let streamClosed: UInt32 = 5
        static let frameSize: UInt32 = 6
        static let refusedStream: UInt32 = 7
        static let cancel: UInt32 = 8
        static let compression: UInt32 = 9
        static let calm: UInt32 = 11
    }

    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let count = UInt32(payload.count)
        let head = [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind, flags]
        return head + word(stream) + payload
    }

    static func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        frame(kind.rawValue, flags: flags, stream: stream, payload)
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    // MARK: Frames

    static func settings(_ entries: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(.settings, entries.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + word($0.1) })
    }

    static let settingsAck = frame(.settings, flags: acknowledge)

    static func ping(_ data: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], flags: UInt8 = 0) -> [UInt8] {
        frame(.ping, flags: flags, data)
    }

    static func data(_ stream: UInt32, _ text: String = "", ends: Bool = false) -> [UInt8] {
        frame(.data, flags: ends ? endStream : 0, stream: stream, Array(text.utf8))
    }

    static func data(_ stream: UInt32, count: Int, ends: Bool = false) -> [UInt8] {
        frame(.data, flags: ends ? endStream : 0, stream: stream, [UInt8](repeating: 0x61, count: count))
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(.windowUpdate, stream: stream, word(increment))
    }

    static func reset(_ stream: UInt32, _ code: UInt32 = Code.cancel) -> [UInt8] {
        frame(.resetStream, stream: stream, word(code))
    }

    static func headers(_ stream: UInt32, _ fields: [(String, String)], ends: Bool = true) -> [UInt8] {
        headers(stream, block: block(fields), ends: ends)
    }

    /// With CONTINUATION frames behind it where it must.
    static func headers(_ stream: UInt32, block: [UInt8], ends: Bool = true) -> [UInt8] {
        let parts = stride(from: 0, to: max(1, block.count), by: 16_384).map {
            block[$0..<min($0 + 16_384, block.count)]
        }
        return parts.indices.flatMap { index in
            let flags = (index == parts.count - 1 ? endHeaders : 0) | (index == 0 && ends ? endStream : 0)
            return frame(index == 0 ? .headers : .continuation, flags: flags, stream: stream, Array(parts[index]))
        }
    }

    static func get(_ stream: UInt32, _ path: String = "/", ends: Bool = true) -> [UInt8] {
        headers(stream, request("GET", path), ends: ends)
    }

    static func post(_ stream: UInt32, _ more: [(String, String)] = []) -> [UInt8] {
        headers(stream, request("POST", "/") + more, ends: false)
    }

    static func request(
        _ method: String = "GET", _ path: String = "/", _ more: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")] + more
    }

    // MARK: HPACK, RFC 7541

    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { literal(Array($0.0.utf8), Array($0.1.utf8)) }
    }

    /// A literal never indexed with a new name (§6.2.3).
    static func literal(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        [0x10] + integer(name.count, prefix: 7) + name + integer(value.count, prefix: 7) + value
    }

    /// A literal with incremental indexing and a new name (§6.2.1).
    static func indexed(_ name: String, _ value: String) -> [UInt8] {
        [0x40] + integer(name.utf8.count, prefix: 7) + name.utf8 + integer(value.utf8.count, prefix: 7) + value.utf8
    }

    /// §5.1, with the bits above the prefix clear.
    static func integer(_ value: Int, prefix: Int) -> [UInt8] {
        let limit = 1 << prefix - 1
        guard value >= limit else { return [UInt8(value)] }
        var rest = value - limit
        var bytes = [UInt8(limit)]
        while rest >= 128 {
            bytes.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// The status of a response whose first field it is, as every encoder writes it.
    static func status(of block: [UInt8]) -> Int? {
        var bytes = block[...]
        // Table size updates come first (§6.3).
        while let first = bytes.first, first & 0xe0 == 0x20 {
            bytes = bytes.dropFirst()
            if first & 0x1f == 0x1f {
                while let next = bytes.popFirst(), next & 0x80 != 0 {}
            }
        }
        guard let first = bytes.popFirst() else { return nil }
        let known = [0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500]
        if let status = known[Int(first)] { return status }
        // A literal whose name is one of the entries 8 to 14 of the static table.
        let index = first & 0xc0 == 0x40 ? first & 0x3f : first & 0x0f
        guard (8...14).contains(index), let length = bytes.popFirst() else { return nil }
        let value = Array(bytes.prefix(Int(length & 0x7f)))
        let digits = length & 0x80 == 0 ? value.map { Int($0) - 48 } : huffmanDigits(value)
        guard digits.count == 3 else { return nil }
        return digits.reduce(0) { $0 * 10 + $1 }
    }

    /// Digits of RFC 7541 Appendix B: 0, 1, 2 in five bits, the others in six.
    private static func huffmanDigits(_ bytes: [UInt8]) -> [Int] {
        let bits = bytes.flatMap { byte in (0..<8).map { Int(byte >> (7 - $0)) & 1 } }
        var digits: [Int] = []
        var index = 0
        while digits.count < 3, index + 5 <= bits.count {
            let five = bits[index..<index + 5].reduce(0) { $0 * 2 + $1 }
            if five < 3 {
                digits.append(five)
                index += 5
            } else {
                guard index + 6 <= bits.count else { break }
                digits.append(five * 2 + bits[index + 5] - 0b011001 + 3)
                index += 6
            }
        }
        return digits
    }
}

/// One frame as it was read.
struct ReadFrame: Equatable, CustomStringConvertible {
    var kind: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]

    var description: String {
        "\(H2.Kind(rawValue: kind).map { "\($0)" } ?? "kind \(kind)")(\(stream), flags \(flags), \(payload.count))"
    }

    func word(at offset: Int) -> UInt32 {
        guard payload.count >= offset + 4 else { return .max }
        return payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Takes a whole frame off the front of `bytes`; nil when there is none.
    static func take(from bytes: inout [UInt8]) -> ReadFrame? {
        guard bytes.count >= 9 else { return nil }
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        guard bytes.count >= 9 + length else { return nil }
        let stream = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let frame = ReadFrame(
            kind: bytes[3], flags: bytes[4], stream: stream, payload: Array(bytes[9..<9 + length]))
        bytes.removeFirst(9 + length)
        return frame
    }
}
