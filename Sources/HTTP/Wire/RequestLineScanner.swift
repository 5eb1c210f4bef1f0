/// Reads `method SP request-target SP HTTP-version CRLF` (RFC 9112 §3), resumable at any byte.
struct RequestLineScanner: Sendable {
    /// Longer than any method in use; longer ones get 501 (RFC 9112 §3).
    static let maximumMethodLength = 32

    private enum State: UInt8 {
        case start, leadingLineFeed, method, path, query, version, lineFeed
    }

    private var state = State.start
    private(set) var position = 0
    private var lineStart = 0
    private var methodEnd = 0
    private var targetStart = 0
    private var targetEnd = 0
    /// Offset of the first `?`, or -1.
    private var question = -1
    private var versionStart = 0
    private var major: UInt8 = 0
    private var minor: UInt8 = 0

    mutating func reset() {
        state = .start
        position = 0
        question = -1
        lineStart = 0
    }

    /// Continues; fills `head` and returns true once the line is complete.
    mutating func parse(_ bytes: Span<UInt8>, maximum: Int, into head: inout RequestHead) throws(WireError) -> Bool {
        while position < bytes.count {
            let end = min(bytes.count, lineStart &+ maximum)
            guard position < end else { throw .requestLineTooLong }
            switch state {
            case .start: skipEmptyLine(bytes[position])
            case .leadingLineFeed: try endEmptyLine(bytes[position])
            case .method: try readMethod(bytes, end)
            case .path: try readPath(bytes, end)
            case .query: try readQuery(bytes, end)
            case .version: try readVersion(bytes, end)
            case .lineFeed:
                guard bytes[position] == ASCII.lineFeed else { throw .bareCarriageReturn }
                position &+= 1
                try finish(bytes, into: &head)
                return true
            }
        }
        // The unfinished line has reached its limit: waiting for more would change nothing.
        guard position &- lineStart < maximum else { throw .requestLineTooLong }
        return false
    }

    /// RFC 9112 §2.2: one empty line before the request line is skipped.
    private mutating func skipEmptyLine(_ byte: UInt8) {
        if byte == ASCII.carriageReturn {
            position = 1
            state = .leadingLineFeed
        } else {
            state = .method
        }
    }

    private mutating func endEmptyLine(_ byte: UInt8) throws(WireError) {
        guard byte == ASCII.lineFeed else { throw .bareCarriageReturn }
        position = 2
        lineStart = 2
        state = .method
    }

    private mutating func readMethod(_ bytes: Span<UInt8>, _ end: Int) throws(WireError) {
        let limit = min(end, lineStart &+ Self.maximumMethodLength &+ 1)
        let token = ByteClass.token
        var index = position
        while index < limit, token.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < limit else {
            if index &- lineStart > Self.maximumMethodLength { throw .methodTooLong }
            return
        }
        guard bytes[index] == ASCII.space, index > lineStart else {
            throw bytes[index] == ASCII.lineFeed ? .bareLineFeed : .invalidMethod
        }
        methodEnd = index
        targetStart = index &+ 1
        position = targetStart
        state = .path
    }

    private mutating func readPath(_ bytes: Span<UInt8>, _ end: Int) throws(WireError) {
        let path = ByteClass.path
        var index = position
        while index < end, path.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < end else { return }
        if bytes[index] == ASCII.question {
            question = index
            position = index &+ 1
            state = .query
        } else {
            try finishTarget(bytes[index], at: index)
        }
    }

    private mutating func readQuery(_ bytes: Span<UInt8>, _ end: Int) throws(WireError) {
        let query = ByteClass.query
        var index = position
        while index < end, query.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < end else { return }
        try finishTarget(bytes[index], at: index)
    }

    private mutating func readVersion(_ bytes: Span<UInt8>, _ end: Int) throws(WireError) {
        while position < end, position &- versionStart < 8 {
            try checkVersion(bytes[position], at: position &- versionStart)
            position &+= 1
        }
        guard position < end else { return }
        guard bytes[position] == ASCII.carriageReturn else {
            throw bytes[position] == ASCII.lineFeed ? .bareLineFeed : .invalidVersion
        }
        position &+= 1
        state = .lineFeed
    }

    private mutating func finishTarget(_ byte: UInt8, at index: Int) throws(WireError) {
        guard byte == ASCII.space, index > targetStart else {
            switch byte {
            case ASCII.lineFeed: throw .bareLineFeed
            // HTTP/0.9 has no version; nobody uses it any more.
            case ASCII.carriageReturn: throw .invalidVersion
            default: throw .invalidTarget
            }
        }
        targetEnd = index
        versionStart = index &+ 1
        position = versionStart
        state = .version
    }

    /// `HTTP/` digit `.` digit, RFC 9112 §2.3.
    private mutating func checkVersion(_ byte: UInt8, at offset: Int) throws(WireError) {
        let expected: UInt8
        switch offset {
        case 0: expected = 0x48
        case 1, 2: expected = 0x54
        case 3: expected = 0x50
        case 4: expected = ASCII.slash
        case 6: expected = ASCII.dot
        default:
            guard byte >= ASCII.zero, byte <= ASCII.nine else { throw .invalidVersion }
            if offset == 5 { major = byte &- ASCII.zero } else { minor = byte &- ASCII.zero }
            return
        }
        guard byte == expected else { throw byte == ASCII.lineFeed ? .bareLineFeed : .invalidVersion }
    }

    private func finish(_ bytes: Span<UInt8>, into head: inout RequestHead) throws(WireError) {
        guard major == 1 else { throw .unsupportedVersion }
        head.minorVersion = min(minor, 1)
        head.methodRange = ByteRange(lineStart, methodEnd)
        head.method = try Self.method(bytes, lineStart, methodEnd)
        head.target = ByteRange(targetStart, targetEnd)
        let pathEnd = question < 0 ? targetEnd : question
        head.query = question < 0 ? nil : ByteRange(question &+ 1, targetEnd)
        if bytes[targetStart] == ASCII.slash {
            head.path = ByteRange(targetStart, pathEnd)
        } else if bytes[targetStart] == ASCII.asterisk {
            // RFC 9112 §3.2.4: only for OPTIONS, and alone.
            guard targetEnd == targetStart &+ 1, head.method == .options else { throw .invalidTarget }
            head.path = head.target
        } else {
            try finishAbsolute(bytes, pathEnd, into: &head)
        }
    }

    /// RFC 9112 §3.2.2: an absolute target is accepted, and its authority takes precedence.
    private func finishAbsolute(_ bytes: Span<UInt8>, _ pathEnd: Int, into head: inout RequestHead) throws(WireError) {
        var start = targetStart
        if pathEnd &- start > 7, equalsIgnoringCase(bytes, start..<start &+ 7, "http://") {
            start &+= 7
        } else if pathEnd &- start > 8, equalsIgnoringCase(bytes, start..<start &+ 8, "https://") {
            start &+= 8
            head.isForHTTPS = true
        } else {
            throw .invalidTarget
        }
        var authorityEnd = start
        while authorityEnd < pathEnd, bytes[authorityEnd] != ASCII.slash { authorityEnd &+= 1 }
        guard HostSyntax.isValid(bytes, start..<authorityEnd) else { throw .invalidTarget }
        head.authority = ByteRange(start, authorityEnd)
        head.path = ByteRange(authorityEnd, pathEnd)
    }

    /// Methods are case-sensitive (RFC 9110 §9.1).
    private static func method(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) throws(WireError) -> RequestMethod {
        guard end &- start <= 8 else { return .other }
        var word: UInt64 = 0
        var index = start
        while index < end {
            word = word &<< 8 | UInt64(bytes[index])
            index &+= 1
        }
        // The ASCII letters of each name as one number.
        switch word {
        case 0x47_45_54: return .get
        case 0x48_45_41_44: return .head
        case 0x50_4f_53_54: return .post
        case 0x50_55_54: return .put
        case 0x44_45_4c_45_54_45: return .delete
        case 0x4f_50_54_49_4f_4e_53: return .options
        case 0x50_41_54_43_48: return .patch
        case 0x54_52_41_43_45: return .trace
        case 0x43_4f_4e_4e_45_43_54: throw .connectRefused
        default: return .other
        }
    }
}
