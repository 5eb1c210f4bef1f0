import HTTP

extension FuzzTarget {
    /// One response with its content, as the client reads it, to a GET and to a HEAD: the same however it is cut.
    static let response = FuzzTarget(name: "response", maximumLength: 2048) { input throws(Finding) in
        var accepted: [UInt8]?
        for isHead in [false, true] {
            for limits in [WireLimits(), tight(startLine: 24)] {
                let whole = try readInAnyPieces(input) { ends throws(Finding) in
                    ResponseTranscript(input, ends: ends, isHead: isHead, limits: limits)
                }
                try whole.check(input, isHead: isHead, limits: limits)
                if let length = whole.length { accepted = Array(input[..<length]) }
            }
        }
        return accepted
    }
}

private struct ResponseTranscript: Equatable {
    private(set) var length: Int?
    private(set) var status = 0
    private(set) var fields: [FieldRange] = []
    private(set) var framing = BodyFraming.none
    private(set) var keepAlive = false
    private(set) var content: [UInt8]?
    private(set) var end = 0
    private(set) var error: WireError?

    init(_ input: [UInt8], ends: [Int], isHead: Bool, limits: WireLimits) {
        do throws(WireError) {
            try read(input, ends: ends, isHead: isHead, limits: limits)
        } catch {
            self.error = error
            // How much of the content came before depends on the pieces.
            end = length ?? 0
        }
    }

    private mutating func read(
        _ input: [UInt8], ends: [Int], isHead: Bool, limits: WireLimits
    ) throws(WireError) {
        var parser = ResponseParser(limits: limits, isHead: isHead)
        var decoder: BodyDecoder?
        var bytes: [UInt8] = []
        for end in ends {
            if decoder == nil, let length = try parser.parse(input.span.extracting(0..<end)) {
                self.length = length
                self.end = length
                let head = parser.head
                (status, fields, framing, keepAlive) = (head.status, head.fields, head.framing, head.keepAlive)
                decoder = BodyDecoder(framing: head.framing, limits: limits)
            }
            if decoder != nil {
                self.end += try decoder?.decode(input.span.extracting(self.end..<end), into: &bytes) ?? 0
            }
        }
        // Then the peer closes.
        try decoder?.end()
        if decoder != nil { content = bytes }
    }

    func check(_ input: [UInt8], isHead: Bool, limits: WireLimits) throws(Finding) {
        guard let length else { return }
        try hold((200...599).contains(status), "status \(status)")
        try hold(length <= input.count && end >= length && end <= input.count, "\(length), \(end) of \(input.count)")
        try hold(fields.count <= limits.fieldCount, "more fields than allowed")
        for field in fields {
            try hold(field.name.start < field.name.end, "a field without a name")
            for place in [field.name, field.value] {
                try hold(place.start <= place.end && Int(place.end) <= length, "a place outside the head: \(place)")
                let isTidy = input[place.range].allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 }
                try hold(isTidy, "a control character in a field")
            }
        }
        if isHead || status == 204 || status == 304 { try hold(framing == .none, "content where none may be") }
        if framing == .untilClose { try hold(!keepAlive, "kept open, though its end is the end") }
        if let content { try hold(content.count <= limits.body, "more content than allowed") }
    }
}
