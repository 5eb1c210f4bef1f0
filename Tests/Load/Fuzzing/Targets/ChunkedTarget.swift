import HTTP

extension FuzzTarget {
    /// Chunked content: the same however it is cut, never more than the limit, and what `PlainChunks` reads, a second
    /// reader that has the whole of it at hand.
    static let chunked = FuzzTarget(name: "chunked", maximumLength: 2048) { input throws(Finding) in
        let loose = try read(input, limits: WireLimits())
        _ = try read(
            input,
            limits: WireLimits {
                $0.body = 8
                $0.chunkLine = 8
                $0.chunkExtensions = 8
                $0.trailerBlock = 16
            })
        guard loose.end != nil else { return nil }
        return loose.content
    }

    private static func read(_ input: [UInt8], limits: WireLimits) throws(Finding) -> ChunkedTranscript {
        let whole = try readInAnyPieces(input) { ends throws(Finding) in
            let read = ChunkedTranscript(input, ends: ends, limits: limits)
            try hold(read.content.count <= limits.body, "more content than allowed")
            return read
        }
        let plain = PlainChunks(input, limits: limits)
        try hold(
            whole.end == plain.end && (whole.end == nil || whole.content == plain.content),
            "\(whole), by lines \(plain)")
        return whole
    }
}

private struct ChunkedTranscript: Equatable {
    private(set) var content: [UInt8] = []
    /// Bytes of the whole content; nil when it is not whole, or wrong.
    private(set) var end: Int?
    private(set) var error: WireError?

    init(_ input: [UInt8], ends: [Int], limits: WireLimits) {
        var decoder = BodyDecoder(framing: .chunked, limits: limits)
        var start = 0
        for end in ends {
            do throws(WireError) {
                start += try decoder.decode(input.span.extracting(start..<end), into: &content)
            } catch {
                self.error = error
                return
            }
        }
        if decoder.isComplete { end = start }
    }

    /// What came before an error depends on the pieces, and nobody looks at it.
    static func == (one: ChunkedTranscript, other: ChunkedTranscript) -> Bool {
        one.error == other.error && one.end == other.end && (one.error != nil || one.content == other.content)
    }
}

/// RFC 9112 §7.1 with the whole text at hand.
private struct PlainChunks {
    private(set) var content: [UInt8] = []
    private(set) var end: Int?

    init(_ input: [UInt8], limits: WireLimits) {
        var position = 0
        var extensions = 0
        while true {
            guard let line = Self.line(input, position), line.count + 2 <= limits.chunkLine else { return }
            let digits = line.prefix { Self.hexadecimal($0) != nil }
            guard (1...16).contains(digits.count) else { return }
            var size = 0
            for digit in digits {
                let (product, overflow) = size.multipliedReportingOverflow(by: 16)
                guard !overflow, let value = Self.hexadecimal(digit) else { return }
                size = product + value
            }
            let rest = line[digits.endIndex...]
            let extended = rest.drop { $0 == 32 || $0 == 9 }
            guard rest.isEmpty || extended.first == 59, Self.areExtensions(extended) else { return }
            // With the carriage return that ends them, as the decoder counts.
            extensions += extended.isEmpty ? 0 : extended.count
            guard extensions <= limits.chunkExtensions else { return }
            position = line.endIndex + 2
            guard size > 0 else { break }
            guard size <= limits.body - content.count, size + 2 <= input.count - position else { return }
            content += input[position..<(position + size)]
            position += size + 2
            guard input[position - 2] == 13, input[position - 1] == 10 else { return }
        }
        let trailer = position
        while let line = Self.line(input, position) {
            position = line.endIndex + 2
            guard position - trailer <= limits.trailerBlock else { return }
            if line.isEmpty {
                end = position
                return
            }
            guard let colon = line.firstIndex(of: 58), colon > line.startIndex,
                line[..<colon].allSatisfy(Self.isToken), line[colon...].allSatisfy(Self.isText)
            else { return }
        }
    }

    /// Up to the next CRLF. A bare one of either, or none, is none.
    private static func line(_ input: [UInt8], _ start: Int) -> ArraySlice<UInt8>? {
        guard start <= input.count, let end = input[start...].firstIndex(where: { $0 == 13 || $0 == 10 }),
            end + 1 < input.count, input[end] == 13, input[end + 1] == 10
        else { return nil }
        return input[start..<end]
    }

    /// `*( ";" name [ "=" value ] )`, blanks where RFC 9112 §7.1.1 has them: around what follows, never at the end.
    private static func areExtensions(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        while rest.first == 59 {
            rest = rest.dropFirst().drop(while: isBlank)
            guard let name = rest.first, isToken(name) else { return false }
            rest = rest.drop(while: isToken)
            if rest.drop(while: isBlank).first == 61 {
                rest = rest.drop(while: isBlank).dropFirst().drop(while: isBlank)
                guard let value = withoutValue(rest) else { return false }
                rest = value
            }
            if rest.drop(while: isBlank).first == 59 { rest = rest.drop(while: isBlank) }
        }
        return rest.isEmpty
    }

    /// What is left of `text` behind the token or the quoted string it begins with; nil when it begins with neither.
    private static func withoutValue(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard text.first == 34 else {
            let rest = text.drop(while: isToken)
            return rest.count == text.count ? nil : rest
        }
        var rest = text.dropFirst()
        while let byte = rest.popFirst() {
            if byte == 34 { return rest }
            guard let quoted = byte == 92 ? rest.popFirst() : byte, isText(quoted) else { return nil }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    private static func hexadecimal(_ byte: UInt8) -> Int? {
        switch byte {
        case 48...57: Int(byte) - 48
        case 65...70: Int(byte) - 55
        case 97...102: Int(byte) - 87
        default: nil
        }
    }

    private static func isText(_ byte: UInt8) -> Bool { byte == 9 || byte >= 32 && byte != 127 }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
