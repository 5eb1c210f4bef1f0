import HTTP

extension FuzzTarget {
    /// Chunked content: the same however it is cut, never more than the limit, and what `PlainChunks` reads, a second
    /// reader that has the whole of it at hand.
    static let chunked = FuzzTarget(name: "chunked", maximumLength: 2048) { input throws(Finding) in
        let loose = try read(input, limits: WireLimits())
        _ = try read(input, limits: WireLimits(body: 8, chunkLine: 8, chunkExtensions: 8, trailerBlock: 16))
        guard loose.end != nil else { return nil }
        return loose.content
    }

    private static func read(_ input: [UInt8], limits: WireLimits) throws(Finding) -> ChunkedTranscript {
        let whole = ChunkedTranscript(input, ends: Cuts.whole(input), limits: limits)
        let bytewise = ChunkedTranscript(input, ends: Cuts.everywhere(input), limits: limits)
        try hold(whole.isSame(as: bytewise), "byte by byte: \(bytewise), whole: \(whole)")
        let cut = ChunkedTranscript(input, ends: Cuts.chosen(input), limits: limits)
        try hold(whole.isSame(as: cut), "in pieces: \(cut), whole: \(whole)")
        try hold(max(whole.content.count, bytewise.content.count) <= limits.body, "more content than allowed")
        let plain = PlainChunks(input, limits: limits)
        try hold(
            whole.end == plain.end && (whole.end == nil || whole.content == plain.content),
            "\(whole), by lines \(plain)")
        return whole
    }
}

private struct ChunkedTranscript {
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
    func isSame(as other: ChunkedTranscript) -> Bool {
        error == other.error && end == other.end && (error != nil || content == other.content)
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
            guard rest.isEmpty || extended.first == 59, extended.dropFirst().allSatisfy(Self.isText) else { return }
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

    private static func hexadecimal(_ byte: UInt8) -> Int? {
        Character(UnicodeScalar(byte)).isASCII ? Character(UnicodeScalar(byte)).hexDigitValue : nil
    }

    private static func isText(_ byte: UInt8) -> Bool { byte == 9 || byte >= 32 && byte != 127 }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        let character = Character(UnicodeScalar(byte))
        return character.isASCII
            && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
    }
}
