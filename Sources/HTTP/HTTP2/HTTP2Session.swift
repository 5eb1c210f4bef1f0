internal import CNghttp2
internal import Coding
internal import Sockets

/// The server's side of one HTTP/2 connection, sans-I/O: bytes in, events out; frames to send are pulled as bytes.
///
/// Only this file and `HTTP2Callbacks.swift` know nghttp2. It does framing, HPACK, stream states and flow control;
/// `RequestAssembler` decides what a request is (`no_http_messaging`), and `FrameGate` comes before it.
///
/// Invariants of every pointer below: nghttp2 keeps no pointer beyond the call, except its user data, which is this
/// object, whose `deinit` ends the session, and the data sources, which `contents` keeps until the stream has closed.
/// Pointers passed to a callback are valid until it returns. Callbacks only record what happened: they throw nothing,
/// wait for nothing and do not call nghttp2.
@safe final class HTTP2Session {
    enum Event: Equatable {
        /// `assembler` holds the fields.
        case request(stream: Int32, ends: Bool)
        case trailers(stream: Int32, ends: Bool)
        /// Where the content is in the bytes fed.
        case content(stream: Int32, range: Range<Int>)
        case ended(stream: Int32)
        case closed(stream: Int32)
        /// The complete response was sent before the request had ended.
        case answeredEarly(stream: Int32)
        /// All available content was taken.
        case drained(stream: Int32)
        case pingAcknowledged
    }

    private let session: OpaquePointer
    private(set) var gate: FrameGate
    /// What happened since the last call; the owner empties it.
    var events: [Event] = []
    var assembler: RequestAssembler
    private(set) var failure: HTTP2Failure?
    /// nghttp2 gave up and must not be called any more.
    private var isBroken = false
    private var farewell: [UInt8] = []
    private let limits: HTTP2Limits

    // Used by callbacks.
    var contents: [Int32: OutgoingContent] = [:]
    var segment: UnsafePointer<UInt8>?
    var segmentOffset = 0
    var faults = 0
    var gains = 0
    /// Streams whose response could not be sent.
    var unsent: [Int32] = []
    private var vectors: [nghttp2_nv] = unsafe []
    private var closed = RecentStreams(capacity: 64)
    private var ignored = RecentStreams(capacity: 256)
    private var lastAccepted = UInt32.max
    private var pingIsDue = false

    /// Nil when there is no memory.
    init?(limits: HTTP2Limits, wire: WireLimits) {
        guard let session = unsafe Self.makeSession(limits) else { return nil }
        unsafe self.session = session
        self.limits = limits
        gate = FrameGate(limits: limits)
        assembler = RequestAssembler(limits: wire)
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        submitSettings()
    }

    deinit { unsafe nghttp2_session_del(session) }

    private static func makeSession(_ limits: HTTP2Limits) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            return nil
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else { return nil }
        defer { unsafe nghttp2_option_del(options) }
        unsafe HTTP2Callbacks.set(on: callbacks)
        // Windows grow only as content is used.
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_no_http_messaging(options, 1)
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        // A second line of defence: the gate's budget is spent earlier.
        unsafe nghttp2_option_set_max_outbound_ack(options, 1000)
        unsafe nghttp2_option_set_stream_reset_rate_limit(options, 10_000, 1000)
        unsafe nghttp2_option_set_max_settings(options, limits.settings)
        unsafe nghttp2_option_set_max_continuations(options, 2 * limits.continuations)
        var session: OpaquePointer?
        guard unsafe nghttp2_session_server_new2(&session, callbacks, nil, options) == 0 else { return nil }
        return unsafe session
    }

    private func submitSettings() {
        func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
            nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(value))
        }
        let entries = [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrentStreams),
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headerList),
            entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
        check(
            unsafe entries.withUnsafeBufferPointer {
                unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), $0.baseAddress, $0.count)
            })
        check(
            unsafe nghttp2_session_set_local_window_size(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(limits.connectionWindow)))
    }

    // MARK: In

    /// Consumes the bytes of `range` up to the end of a frame; results are in `events`.
    /// - Returns: the number of bytes consumed: all of them once the session is over.
    func receive(_ bytes: [UInt8], _ range: Range<Int>, now: Deadline) -> Int {
        guard !isOver else { return range.count }
        do {
            let part = try gate.next(bytes.span, range, now: now) { state(of: $0) }
            let queued = queuedFrames
            try feed(part.header, part.header.indices)
            try feed(bytes, part.range)
            if gate.current.kind == FrameHeader.Kind.settings { try checkWindows(queuedBefore: queued) }
            if gains > 0 { gate.credit(gains) }
            if faults > 0 { try gate.charge(faults, at: now) }
            gains = 0
            faults = 0
            return part.used
        } catch {
            fail(error)
            return range.count
        }
    }

    private func feed(_ bytes: [UInt8], _ part: Range<Int>) throws(HTTP2Failure) {
        guard !part.isEmpty else { return }
        let result = unsafe bytes.withUnsafeBufferPointer { buffer in
            let start = unsafe buffer.baseAddress.map { unsafe $0 + part.lowerBound }
            unsafe segment = start
            segmentOffset = part.lowerBound
            defer { unsafe segment = nil }
            return unsafe nghttp2_session_mem_recv(session, start, part.count)
        }
        guard result == part.count else {
            isBroken = true
            let isFlood = result == Int(NGHTTP2_ERR_FLOODED.rawValue)
            throw HTTP2Failure(isFlood ? .enhanceYourCalm : .internalError, "nghttp2: \(result)")
        }
    }

    /// RFC 9113 §6.9.2: SETTINGS that make a window too large are a connection error. nghttp2 only resets the affected
    /// streams, and so has more to send than the acknowledgement.
    private func checkWindows(queuedBefore: Int) throws(HTTP2Failure) {
        guard queuedFrames > queuedBefore + 1 else { return }
        throw HTTP2Failure(.flowControlError, "SETTINGS make a window too large")
    }

    private func state(of stream: UInt32) -> FrameGate.StreamState {
        if unsafe nghttp2_session_get_stream_remote_close(session, Int32(stream)) >= 0 { return .open }
        if stream > lastAccepted || ignored.contains(stream) { return .ignored }
        return closed.contains(stream) ? .closed : .skipped
    }

    /// Ends the connection with an error: queued output is sent, then GOAWAY.
    func fail(_ failure: HTTP2Failure) {
        guard self.failure == nil else { return }
        self.failure = failure
        if isBroken {
            farewell = Self.goAway(last: gate.highest, failure.code)
        } else {
            check(unsafe nghttp2_session_terminate_session(session, failure.code.rawValue))
        }
    }

    /// The bytes of GOAWAY (RFC 9113 §6.8), for when nghttp2 must not be called.
    private static func goAway(last: UInt32, _ code: HTTP2ErrorCode) -> [UInt8] {
        var frame: [UInt8] = [0, 0, 8, FrameHeader.Kind.goAway, 0, 0, 0, 0, 0]
        for word in [last, code.rawValue] { frame += [UInt8](bigEndian: word) }
        return frame
    }

    /// Nothing more is read: an error was sent or received, or the last stream after a GOAWAY has ended.
    var isOver: Bool { unsafe failure != nil || isBroken || nghttp2_session_want_read(session) == 0 }

    /// Frames that wait to be pulled: bounds what a peer that does not read makes us keep.
    var queuedFrames: Int { isBroken ? 0 : unsafe nghttp2_session_get_outbound_queue_size(session) }

    // MARK: Out

    /// Whether there is, or may be, something to pull.
    var hasOutput: Bool { isBroken ? !farewell.isEmpty : unsafe nghttp2_session_want_write(session) != 0 }

    /// Appends serialised frames until `output` holds `limit` bytes or there are none.
    func pull(into output: inout [UInt8], limit: Int) {
        while !isBroken, output.count < limit {
            var data: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &data)
            if count < 0 { isBroken = true }
            guard count > 0, let data = unsafe data else {
                guard resetUnsent() || sendPing() else { break }
                continue
            }
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
        }
        if isBroken, !farewell.isEmpty {
            output.append(contentsOf: farewell)
            farewell = []
        }
    }

    /// Nobody should wait for what cannot be sent.
    private func resetUnsent() -> Bool {
        guard !unsent.isEmpty else { return false }
        for stream in unsent { reset(stream, .internalError) }
        unsent.removeAll()
        return true
    }

    /// Sends a response: its fields, then `content`, if any.
    func respond(to stream: Int32, _ list: borrowing HeaderList, content: OutgoingContent?) {
        guard !isBroken else { return }
        guard let content else {
            return unsafe check(withVectors(list) { unsafe nghttp2_submit_response(session, stream, $0, $1, nil) })
        }
        contents[stream] = content
        var provider = unsafe HTTP2Callbacks.provider(for: content)
        // No priorities are known: streaming responses share the connection evenly (RFC 9218 §4.2).
        var priority = nghttp2_extpri(urgency: 3, inc: 1)
        _ = unsafe nghttp2_session_change_extpri_stream_priority(session, stream, &priority, 1)
        unsafe check(withVectors(list) { unsafe nghttp2_submit_response(session, stream, $0, $1, &provider) })
    }

    /// `100 Continue`, before the response.
    func inform(_ stream: Int32, _ list: borrowing HeaderList) {
        guard !isBroken else { return }
        unsafe check(
            withVectors(list) {
                unsafe nghttp2_submit_headers(
                    session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, $0, $1, nil) < 0 ? -1 : 0
            })
    }

    private func withVectors(
        _ list: borrowing HeaderList, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
    ) -> Int32 {
        unsafe vectors.removeAll(keepingCapacity: true)
        return unsafe list.bytes.withUnsafeBufferPointer { bytes in
            guard let base = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress) else { return 0 }
            for entry in list.entries {
                let flags = entry.isSecret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                // Invariant: nghttp2 reads names and values, and copies them.
                unsafe vectors.append(
                    nghttp2_nv(
                        name: base + entry.name.lowerBound, value: base + entry.value.lowerBound,
                        namelen: entry.name.count, valuelen: entry.value.count, flags: UInt8(flags.rawValue)))
            }
            return unsafe vectors.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count) }
        }
    }

    func resume(_ stream: Int32) {
        guard !isBroken else { return }
        _ = unsafe nghttp2_session_resume_data(session, stream)
    }

    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        guard !isBroken else { return }
        ignored.insert(UInt32(stream))
        check(unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue))
    }

    /// Resets for a fault of the peer; counted.
    func resetFaulty(_ stream: Int32, _ code: HTTP2ErrorCode) {
        faults += 1
        reset(stream, code)
    }

    // MARK: Flow control, in

    /// Content was moved to where other limits apply: the stream may send as much more.
    func creditStream(_ stream: Int32, _ count: Int) {
        guard !isBroken, count > 0 else { return }
        _ = unsafe nghttp2_session_consume_stream(session, stream, count)
    }

    /// Content is no longer kept: the connection may send as much more.
    func creditConnection(_ count: Int) {
        guard !isBroken, count > 0 else { return }
        check(unsafe nghttp2_session_consume_connection(session, count))
    }

    // MARK: Ending

    /// RFC 9113 §6.8: GOAWAY with the highest number, and a PING whose answer shows that it was read.
    func announceShutdown() {
        guard !isBroken else { return }
        check(unsafe nghttp2_submit_shutdown_notice(session))
        pingIsDue = true
    }

    /// After the GOAWAY, which nghttp2 would let it overtake.
    private func sendPing() -> Bool {
        guard pingIsDue else { return false }
        pingIsDue = false
        check(unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
        return true
    }

    /// GOAWAY with the last stream accepted: later ones are ignored from now on.
    func shutDown() {
        guard !isBroken, failure == nil else { return }
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        lastAccepted = UInt32(last)
        gate.lastAccepted = lastAccepted
        check(
            unsafe nghttp2_submit_goaway(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, HTTP2ErrorCode.noError.rawValue, nil, 0))
    }

    private func check(_ result: Int32) {
        // Other errors concern one stream that is gone by now.
        if nghttp2_is_fatal(result) != 0 { isBroken = true }
    }

    // MARK: Callbacks

    func recordClosed(_ stream: Int32, code: UInt32) {
        contents[stream] = nil
        closed.insert(UInt32(stream))
        if code == HTTP2ErrorCode.noError.rawValue { gains += 1 }
        events.append(.closed(stream: stream))
    }

    func recordIgnored(_ stream: Int32) {
        if stream > 0 { ignored.insert(UInt32(stream)) }
    }
}

/// The streams that ended most recently, as many as are useful to remember.
struct RecentStreams {
    private let capacity: Int
    private var numbers: [UInt32] = []
    private var next = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func insert(_ number: UInt32) {
        if numbers.count < capacity {
            numbers.append(number)
        } else {
            numbers[next] = number
            next = (next + 1) % capacity
        }
    }

    func contains(_ number: UInt32) -> Bool { numbers.contains(number) }
}
