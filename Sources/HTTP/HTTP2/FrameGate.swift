internal import Sockets

/// The nine bytes before every frame (RFC 9113 §4.1).
struct FrameHeader: Hashable, Sendable {
    enum Kind {
        static let data: UInt8 = 0x0
        static let headers: UInt8 = 0x1
        static let priority: UInt8 = 0x2
        static let resetStream: UInt8 = 0x3
        static let settings: UInt8 = 0x4
        static let pushPromise: UInt8 = 0x5
        static let ping: UInt8 = 0x6
        static let goAway: UInt8 = 0x7
        static let windowUpdate: UInt8 = 0x8
        static let continuation: UInt8 = 0x9
    }

    static let size = 9
    static let endStream: UInt8 = 0x1
    static let acknowledge: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4

    var length: Int
    var kind: UInt8
    var flags: UInt8
    var stream: UInt32

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

/// Examines every frame header before nghttp2 does: it knows where frames begin and end, refuses what nghttp2
/// accepts, and counts frames that are harmless once and an attack a thousand times.
///
/// Sans-I/O: the session feeds nghttp2 exactly the segments returned here, so that nothing of a refused frame gets
/// there, and every frame is judged in the state left by the one before.
struct FrameGate: Sendable {
    /// What the session knows about a stream.
    enum StreamState {
        case open, closed
        /// Reset by us, or never accepted: frames that were in flight are ignored (RFC 9113 §5.1).
        case ignored
        /// Below the highest, and never used.
        case skipped
    }

    private enum Phase {
        case preface(matched: Int)
        case header
        case payload(remaining: Int)
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// A DATA frame with less content than this costs a token.
    private static let smallData = 16
    /// Enough for a browser that closes a page of a hundred requests ten times in a row.
    private static let maximumTokens = 1000
    private static let tokensPerSecond: Int64 = 33

    private let limits: HTTP2Limits
    private var phase = Phase.preface(matched: 0)
    private var collected: [UInt8] = []
    /// How much non-productive work a peer may cause before the connection is closed with ENHANCE_YOUR_CALM:
    /// a token bucket that refills slowly with time, and with every request served.
    ///
    /// PING, SETTINGS, PRIORITY, RST_STREAM and unknown frames cost one token each, as do WINDOW_UPDATE, nearly empty DATA
    /// frames, HEADERS for a stream that is reset or no longer accepted, and every stream that we must reset for a fault
    /// of the peer (CVE-2023-44487, CVE-2025-8671, CVE-2019-9511 to 9518).
    private var tokens = Self.maximumTokens
    private var refilledAt: Deadline?
    private var continuations = 0
    /// Nonzero while CONTINUATION frames of that stream are expected.
    private(set) var openBlock: UInt32 = 0
    /// The encoded size so far of a field block that has not ended; 0 outside of one.
    var openBlockBytes: Int {
        if openBlock != 0 { return blockBytes }
        guard case .payload = phase else { return 0 }
        return current.kind == FrameHeader.Kind.headers || current.kind == FrameHeader.Kind.continuation
            ? blockBytes : 0
    }
    private var blockBytes = 0
    /// The highest stream of the client so far.
    private(set) var highest: UInt32 = 0
    /// Streams above it are no longer accepted: we have sent GOAWAY.
    var lastAccepted = UInt32.max
    private(set) var current = FrameHeader(length: 0, kind: 0, flags: 0, stream: 0)
    /// The client's first SETTINGS are complete.
    private(set) var isStarted = false

    init(limits: HTTP2Limits) {
        self.limits = limits
        collected.reserveCapacity(FrameHeader.size)
    }

    /// Whether a frame or a header block has begun and not ended.
    var isInsideFrame: Bool {
        switch phase {
        case .preface(let matched): matched > 0
        case .header: !collected.isEmpty || openBlock != 0
        case .payload: true
        }
    }

    /// Whether that frame is DATA, whose time is the stream's.
    var isInsideData: Bool {
        if case .payload = phase { return current.kind == FrameHeader.Kind.data }
        return false
    }

    struct Segment {
        /// The number of bytes consumed.
        var used: Int
        /// A frame header that arrived in pieces: passed on before `range`.
        var header: [UInt8] = []
        var range: Range<Int>
    }

    /// The next bytes to pass on, from `range.lowerBound`, at most to the end of a frame. A header is passed on only
    /// when complete: nghttp2 1.52 counts its pieces as CONTINUATION frames.
    mutating func next(
        _ bytes: Span<UInt8>, _ range: Range<Int>, now: Deadline, state: (UInt32) -> StreamState
    ) throws(HTTP2Failure) -> Segment {
        var index = range.lowerBound
        switch phase {
        case .preface(var matched):
            while index < range.upperBound, matched < Self.preface.count {
                // RFC 9113 §3.4.
                guard bytes[index] == Self.preface[matched] else { throw HTTP2Failure(.protocolError, "bad preface") }
                matched += 1
                index += 1
            }
            phase = matched == Self.preface.count ? .header : .preface(matched: matched)
        case .header:
            let cameApart = !collected.isEmpty
            while index < range.upperBound, collected.count < FrameHeader.size {
                collected.append(bytes[index])
                index += 1
            }
            guard collected.count == FrameHeader.size else {
                return Segment(used: index - range.lowerBound, range: index..<index)
            }
            let header = cameApart ? collected : []
            let start = cameApart ? index : range.lowerBound
            readHeader()
            try judge(now: now, state: state)
            index += payload(available: range.upperBound - index)
            return Segment(used: index - range.lowerBound, header: header, range: start..<index)
        case .payload: index += payload(available: range.upperBound - index)
        }
        return Segment(used: index - range.lowerBound, range: range.lowerBound..<index)
    }

    /// Charges for a fault of the peer that made us reset a stream, or similar.
    mutating func charge(_ cost: Int, at now: Deadline) throws(HTTP2Failure) {
        refill(at: now)
        tokens -= cost
        guard tokens >= 0 else { throw HTTP2Failure(.enhanceYourCalm, "too many non-productive frames") }
    }

    mutating func credit(_ gain: Int) { tokens = min(Self.maximumTokens, tokens + gain) }

    private mutating func refill(at now: Deadline) {
        guard let last = refilledAt else {
            refilledAt = now
            return
        }
        let step = 1_000_000_000 / Self.tokensPerSecond
        let gained = (now.nanoseconds - last.nanoseconds) / step
        guard gained > 0 else { return }
        refilledAt = Deadline(nanoseconds: last.nanoseconds + gained * step)
        credit(Int(min(gained, Int64(Self.maximumTokens))))
    }

    private mutating func readHeader() {
        let length = Int(collected[0]) << 16 | Int(collected[1]) << 8 | Int(collected[2])
        var stream: UInt32 = 0
        for index in 5..<FrameHeader.size { stream = stream << 8 | UInt32(collected[index]) }
        // The first bit is reserved, and ignored.
        current = FrameHeader(length: length, kind: collected[3], flags: collected[4], stream: stream & 0x7fff_ffff)
        collected.removeAll(keepingCapacity: true)
        phase = .payload(remaining: current.length)
    }

    /// How many of the available bytes belong to the frame.
    private mutating func payload(available: Int) -> Int {
        guard case .payload(let remaining) = phase else { return 0 }
        let count = min(remaining, available)
        blockBytes += count
        if count == remaining {
            phase = .header
            if current.kind == FrameHeader.Kind.settings { isStarted = true }
        } else {
            phase = .payload(remaining: remaining - count)
        }
        return count
    }

    // MARK: Judging

    private mutating func judge(now: Deadline, state: (UInt32) -> StreamState) throws(HTTP2Failure) {
        switch current.kind {
        case FrameHeader.Kind.headers: try judgeHeaders(now: now, state: state)
        case FrameHeader.Kind.continuation:
            continuations += 1
            // CVE-2024-27316 and similar.
            guard continuations <= limits.continuations else {
                throw HTTP2Failure(.enhanceYourCalm, "too many CONTINUATION frames")
            }
            if current.has(FrameHeader.endHeaders) { openBlock = 0 }
        case FrameHeader.Kind.data:
            if current.stream & 1 == 1, current.stream <= highest { try judgeData(state(current.stream)) }
            if current.length < Self.smallData, !current.has(FrameHeader.endStream) { try charge(1, at: now) }
        case FrameHeader.Kind.settings:
            guard current.length <= 6 * limits.settings else {
                throw HTTP2Failure(.enhanceYourCalm, "too many settings")
            }
            try charge(1, at: now)
        case FrameHeader.Kind.priority:
            // RFC 9113 §6.3: nghttp2 ignores these frames entirely when priorities are disabled.
            guard current.stream != 0 else { throw HTTP2Failure(.protocolError, "PRIORITY on stream 0") }
            try charge(1, at: now)
        default: try charge(1, at: now)
        }
    }

    private mutating func judgeHeaders(now: Deadline, state: (UInt32) -> StreamState) throws(HTTP2Failure) {
        if current.stream & 1 == 1 {
            if current.stream > highest {
                highest = current.stream
                if highest > lastAccepted { try charge(1, at: now) }
            } else {
                switch state(current.stream) {
                case .open: break
                // A field block that is decoded for nothing.
                case .ignored: try charge(1, at: now)
                case .closed: throw HTTP2Failure(.streamClosed, "HEADERS on a closed stream")
                // RFC 9113 §5.1.1: a new stream's number is higher than all before it.
                case .skipped: throw HTTP2Failure(.protocolError, "a stream number below an earlier one")
                }
            }
        }
        continuations = 0
        blockBytes = 0
        openBlock = current.has(FrameHeader.endHeaders) ? 0 : current.stream
    }

    /// RFC 9113 §5.1: frames after the end of a stream are an error, unless only we have ended it.
    private func judgeData(_ state: StreamState) throws(HTTP2Failure) {
        if state == .closed || state == .skipped { throw HTTP2Failure(.streamClosed, "DATA on a closed stream") }
    }
}

/// An error of the whole connection (RFC 9113 §5.4.1).
struct HTTP2Failure: Error, Hashable, Sendable {
    var code: HTTP2ErrorCode
    /// For the log. Fixed text without anything the peer sent.
    var reason: String

    init(_ code: HTTP2ErrorCode, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// Why we end a stream or a connection (RFC 9113 §7).
package enum HTTP2ErrorCode: UInt32, Hashable, Sendable {
    case noError = 0x0
    case protocolError = 0x1
    case internalError = 0x2
    case flowControlError = 0x3
    case settingsTimeout = 0x4
    case streamClosed = 0x5
    case refusedStream = 0x7
    case cancel = 0x8
    case enhanceYourCalm = 0xb
}
