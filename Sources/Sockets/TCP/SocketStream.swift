internal import CLinux
internal import Glibc

/// A connected, non-blocking TCP stream, optionally with TLS, owned by one task of its loop.
///
/// Registered once, edge-triggered, for both directions: `isReadable` and `isWritable` remember epoll's report until a
/// call returns EAGAIN. One task may wait to read while another waits to write; two of one kind are a bug.
///
/// Proof for `@unchecked Sendable`: `socketPeer`, `service`, `descriptor` and `admission` never change. The other
/// properties are like a `Channel`'s: code that uses them is called by the loop (`ready`, `expired`, `drain`, `abort`)
/// or asserts that it runs there, including the plain flags between requests and `peer`, which only the connection's
/// task uses. `deinit` runs when nobody else has a reference.
@safe package final class SocketStream: Channel, @unchecked Sendable {
    private enum Wake {
        case ready, deadline, draining, aborted
    }

    package let socketPeer: SocketAddress
    /// The peer as far as known: `socketPeer`, or the address in its PROXY header.
    package private(set) var peer: SocketAddress
    package private(set) var isIntroduced = false
    /// Whether a proxy relays a client here without naming it.
    package private(set) var isAnonymous = false
    /// The listener it came through, as passed to `Listener.start`.
    package let service: Int
    /// Whether it has answered a request before: then the idle limit applies, not that for a first request.
    package var isReused = false
    let descriptor: Int32
    /// Whether a read is worth trying: epoll reported it, and no call has returned EAGAIN since.
    package internal(set) var isReadable = true
    private var isWritable = true
    private(set) var sawHangUp = false
    /// Called on the loop when the peer has closed its side, perhaps more than once.
    package var onHangUp: (() -> Void)?
    private(set) var isClosed = false
    private var reader: UnsafeContinuation<Wake, Never>?
    private var writer: UnsafeContinuation<Wake, Never>?
    private var isParked = false
    /// Counts the turns of its task: one ends where it waits, and where it lets others go first.
    package internal(set) var turn = 0
    /// Bytes read from the socket in this turn; whatever the protocol, they cost about the same.
    var turnBytes = 0
    private let admission: AdmissionControl?
    private(set) var tls: TLSSession?

    /// Whether nothing is in flight: set by the server between requests, so that draining may end the wait.
    package var isIdle = false
    /// Whether draining also ends a wait to read while something is in flight, so that a connection with many requests
    /// can announce that it accepts no more.
    package var endsReadOnDrain = false
    /// Whether no request is in flight, though one may have begun to arrive, so that it may be closed to make room: set
    /// by the server while it waits for the rest of a head, or lingers.
    package var waitsForHead = false

    /// Takes ownership of `descriptor`, which must be non-blocking and connected, or connecting.
    init(
        _ descriptor: consuming Descriptor, peer: SocketAddress, loop: EventLoop, service: Int = 0,
        admission: AdmissionControl? = nil, isConnecting: Bool = false
    ) throws(SystemError) {
        socketPeer = peer
        self.peer = peer
        self.service = service
        self.descriptor = descriptor.number
        self.admission = admission
        isWritable = !isConnecting
        super.init(loop: loop)
        let events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        do {
            try loop.register(self, descriptor: self.descriptor, events: events)
        } catch {
            // `descriptor` closes it. A second close by `deinit` could hit a new owner of the number.
            isClosed = true
            throw error
        }
        _ = descriptor.release()
    }

    deinit { if !isClosed { _ = Glibc.close(descriptor) } }

    package var isSecure: Bool { tls != nil }
    /// Whether `close` has been called, by us or by a deadline.
    package var hasEnded: Bool { isClosed }
    /// Whether the peer has closed its side, as far as epoll has reported.
    package var peerHasClosed: Bool { sawHangUp }

    // MARK: Reading

    /// Reads at least one byte into `bytes[offset...]`; 0 at the end of the stream. A connection that always has input
    /// lets others go first every `bytesPerTurn`, and is still subject to its deadline.
    package func read(into bytes: inout [UInt8], at offset: Int) async throws(StreamError) -> Int {
        while true {
            if isTurnOver {
                await endTurn()
                if deadline <= loop.now { throw .deadline }
            }
            if let count = try tryReading(into: &bytes, at: offset) { return count }
            try await waitUntilReadable()
        }
    }

    /// Reads available input without waiting; nil when there is none (with TLS: no complete record).
    package func tryReading(into bytes: inout [UInt8], at offset: Int) throws(StreamError) -> Int? {
        loop.assertOnLoop()
        if let tls {
            guard mayRead else { return nil }
            guard !isClosed else { throw .aborted }
            return try tls.read(into: &bytes, at: offset)
        }
        return try tryReadingRaw(into: &bytes, at: offset)
    }

    /// Whether a read may bring something, or with TLS first send something.
    private var mayRead: Bool {
        guard let tls else { return isReadable }
        return tls.awaitsOutput ? isWritable : isReadable || tls.hasInput
    }

    private func tryReadingRaw(into bytes: inout [UInt8], at offset: Int) throws(StreamError) -> Int? {
        guard isReadable else { return nil }
        guard !isClosed else { throw .aborted }
        let outcome = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe receive(UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]))
        }
        switch outcome {
        case .moved(let count): return count
        case .wouldBlock: return nil
        case .failed(let code): throw .broken(code)
        }
    }

    /// One recv(2), unless epoll has reported that there is nothing. After closing, the descriptor may be another's.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> SystemCalls.Transfer {
        guard !isClosed else { return .failed(ECONNABORTED) }
        guard isReadable else { return .wouldBlock }
        let outcome = unsafe SystemCalls.receive(descriptor, into: buffer)
        switch outcome {
        case .moved(let count):
            // A short read emptied the socket, and the next bytes raise a new edge. Not after a hang-up, whose edge has
            // passed.
            if count < buffer.count && !sawHangUp { isReadable = false }
            turnBytes += count
        case .wouldBlock: isReadable = false
        case .failed: break
        }
        return outcome
    }

    /// Peeks from the first unread byte on; 0 at the end of the stream, nil when nothing has arrived. A caller that
    /// needs more calls `markUnreadable` and waits for the next edge.
    func tryPeeking(into bytes: inout [UInt8]) throws(StreamError) -> Int? {
        loop.assertOnLoop()
        guard isReadable else { return nil }
        guard !isClosed else { throw .aborted }
        switch SystemCalls.peek(descriptor, into: &bytes) {
        case .moved(let count): return count
        case .wouldBlock: return nil
        case .failed(let code): throw .broken(code)
        }
    }

    /// Applies a PROXY header; false when the address it names has too many connections.
    func introduce(_ source: ProxyHeader.Source) -> Bool {
        loop.assertOnLoop()
        if case .client(let address) = source {
            if let admission, !admission.move(from: peer.ip, to: address.ip) { return false }
            peer = address
        }
        isAnonymous = source == .anonymous
        isIntroduced = true
        return true
    }

    package func waitUntilReadable() async throws(StreamError) {
        loop.assertOnLoop()
        while !mayRead {
            // The peer may be waiting for the end of the handshake before it sends anything.
            tls?.flush()
            try checkBeforeWaiting()
            unsafe assert(reader == nil, "two tasks read from one stream")
            // Invariant: `resumeReader` removes the continuation before it resumes it, so it is resumed exactly once;
            // the loop keeps this channel registered until then.
            beginTurn()
            try Self.check(await unsafe withUnsafeContinuation { unsafe reader = $0 })
        }
    }

    /// The caller has read everything that has arrived.
    func markUnreadable() {
        loop.assertOnLoop()
        isReadable = false
    }

    // MARK: Writing

    /// Passes all of `bytes` to the kernel, waiting as often as necessary.
    /// - Parameter offset: bytes that were already passed.
    package func write(_ bytes: [UInt8], from offset: Int = 0) async throws(StreamError) {
        var sent = offset
        while sent < bytes.count {
            sent += try tryWriting(bytes, from: sent)
            if sent < bytes.count { try await waitUntilWritable() }
        }
    }

    /// Sends without waiting; returns the bytes that the kernel took, or OpenSSL in complete records. With TLS the next
    /// call must begin with the bytes not taken: part of them may be in flight.
    package func tryWriting(_ bytes: [UInt8]) throws(StreamError) -> Int { try tryWriting(bytes, from: 0) }

    private func tryWriting(_ bytes: [UInt8], from offset: Int) throws(StreamError) -> Int {
        loop.assertOnLoop()
        guard !isClosed else { throw .aborted }
        if let tls { return try tls.write(bytes, from: offset) }
        let outcome = unsafe bytes.withUnsafeBytes { buffer in
            unsafe send(UnsafeRawBufferPointer(rebasing: buffer[offset...]))
        }
        switch outcome {
        case .moved(let count): return count
        case .wouldBlock: return 0
        case .failed(let code): throw .broken(code)
        }
    }

    /// One send(2), with the same guard.
    func send(_ bytes: UnsafeRawBufferPointer) -> SystemCalls.Transfer {
        guard !isClosed else { return .failed(ECONNABORTED) }
        let outcome = unsafe SystemCalls.send(descriptor, bytes)
        if case .wouldBlock = outcome { isWritable = false }
        return outcome
    }

    package func waitUntilWritable() async throws(StreamError) {
        loop.assertOnLoop()
        while !isWritable {
            try checkBeforeWaiting()
            unsafe assert(writer == nil, "two tasks write to one stream")
            // Invariant: as for the reader.
            beginTurn()
            try Self.check(await unsafe withUnsafeContinuation { unsafe writer = $0 })
        }
    }

    // MARK: Waiting

    private func checkBeforeWaiting() throws(StreamError) {
        if isClosed { throw .aborted }
        if deadline <= loop.now { throw .deadline }
        if loop.isDraining && isIdle || loop.isEnding && endsReadOnDrain { throw .draining }
    }

    private static func check(_ wake: Wake) throws(StreamError) {
        switch wake {
        case .ready: return
        case .deadline: throw .deadline
        case .draining: throw .draining
        case .aborted: throw .aborted
        }
    }

    private func resumeReader(_ wake: Wake) {
        if let waiter = unsafe reader {
            unsafe reader = nil
            // Input that has arrived is in flight from now on, not only once the task has read it.
            if wake == .ready { isIdle = false }
            unsafe waiter.resume(returning: wake)
        }
    }

    private func resumeWriter(_ wake: Wake) {
        if let waiter = unsafe writer {
            unsafe writer = nil
            unsafe waiter.resume(returning: wake)
        }
    }

    private func resumeBoth(_ wake: Wake) {
        resumeReader(wake)
        resumeWriter(wake)
    }

    /// Whether this is an idle connection that no task waits on: a client's, kept for its next request.
    private var isUnattended: Bool { unsafe isIdle && reader == nil && writer == nil }

    override func ready(_ events: UInt32) {
        let failed = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        if events & EPOLLRDHUP.rawValue != 0 || failed {
            sawHangUp = true
            onHangUp?()
        }
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 || failed { isReadable = true }
        if events & EPOLLOUT.rawValue != 0 || failed { isWritable = true }
        if isWritable { tls?.flush() }
        if isParked {
            if isReadable { unpark() }
        } else {
            if mayRead { resumeReader(.ready) }
            if isWritable { resumeWriter(.ready) }
        }
    }

    override func expired() {
        if isParked || isUnattended { abandon() } else { resumeBoth(.deadline) }
    }

    override func drain() {
        if isParked {
            // A request may have arrived that epoll has not reported yet: it is still answered.
            if SystemCalls.hasInput(descriptor) {
                isReadable = true
                unpark()
            } else {
                close()
            }
        } else if isUnattended {
            close()
        } else if isIdle {
            resumeBoth(.draining)
        } else if endsReadOnDrain {
            resumeReader(.draining)
        }
    }

    /// Its next answer is its last, and says so; a connection with many requests announces it at once.
    override func retire() {
        if !isParked, endsReadOnDrain { resumeReader(.draining) }
    }

    override func abort() { abandon() }

    override func isExpendable(among admission: AdmissionControl) -> Bool {
        (isParked || waitsForHead) && self.admission === admission
    }

    override func closeIfIdle() -> Bool {
        // A request may have arrived that epoll has not reported yet.
        guard isParked || waitsForHead, !SystemCalls.hasInput(descriptor) else { return false }
        abandon()
        return true
    }

    // MARK: Parking

    /// Whether TLS holds nothing: neither input read together with the last, nor output.
    package var mayPark: Bool { tls?.isAtRest ?? true }

    /// Leaves the connection with the loop, without a task, until it is readable; then it arrives again. The caller
    /// holds no unread bytes and returns at once. At the deadline the loop closes it. A TLS session stays with it,
    /// without buffers.
    package func park() {
        loop.assertOnLoop()
        if loop.isDraining || isClosed { return close() }
        isParked = true
        if isReadable || tls?.hasInput == true { unpark() }
    }

    /// Leaves a connection that was just accepted with the loop until its first byte or `deadline`: one that never
    /// sends costs no task. Registering made epoll report what has already arrived.
    func parkUntilFirstByte(deadline: Deadline) {
        loop.assertOnLoop()
        isReadable = false
        isParked = true
        setDeadline(deadline)
    }

    private func unpark() {
        isParked = false
        loop.arrive(.connection(self))
    }

    // MARK: Ending

    /// Half-close: the peer reads the end of the stream, we may still read.
    package func shutdownWrite() {
        loop.assertOnLoop()
        guard !isClosed else { return }
        tls?.sendCloseNotify()
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    package func close() {
        loop.assertOnLoop()
        guard !isClosed else { return }
        tls?.sendCloseNotify()
        tls = nil
        isClosed = true
        isParked = false
        loop.unregister(self)
        _ = Glibc.close(descriptor)
        admission?.release(peer.ip)
        resumeBoth(.aborted)
    }

    /// Closes because the peer's time is up. What it has not taken is discarded, by a reset: the kernel would keep it,
    /// up to some megabytes, for as long as the peer takes a byte now and then.
    package func abandon() {
        loop.assertOnLoop()
        if !isClosed, bramley_unsent_bytes(descriptor) > 0 {
            SystemCalls.resetOnClose(descriptor)
            // Its alert would wait behind the rest.
            tls = nil
        }
        close()
    }

    /// Closes so that the peer can read our last output even while it is still sending: half-closes, then reads and
    /// discards input until the end (RFC 9112 §9.6). Closing at once would reset the connection, and the reset might
    /// overtake the answer.
    /// - Parameters:
    ///   - silence: milliseconds without a byte after which the peer is done.
    ///   - deadline: the end, whatever still arrives.
    ///   - outputDeadline: when the peer must have taken our output, or the rest is dropped.
    package func lingeringClose(silence: Int64, until deadline: Deadline, outputDeadline: Deadline) async {
        shutdownWrite()
        // Further input is discarded undecrypted.
        tls = nil
        waitsForHead = true
        do {
            try await discardInput(silence: silence, until: deadline)
        } catch {
            return close()
        }
        // If closed in the meantime, the descriptor may be another's.
        while !isClosed, loop.now < outputDeadline, bramley_unsent_bytes(descriptor) > 0 {
            // No event reports that it was taken, so poll; an event does report that the connection broke.
            isReadable = false
            setDeadline(min(outputDeadline, loop.now.adding(milliseconds: silence)))
            try? await waitUntilReadable()
        }
        abandon()
    }

    /// - Throws: when the connection broke.
    private func discardInput(silence: Int64, until deadline: Deadline) async throws(StreamError) {
        var scratch = loop.buffers.acquire()
        defer { loop.buffers.release(scratch) }
        while loop.now < deadline {
            setDeadline(min(deadline, loop.now.adding(milliseconds: silence)))
            do {
                if try await readRaw(into: &scratch) == 0 { return }
            } catch {
                if error == .deadline { return }
                throw error
            }
            if isTurnOver { await endTurn() }
        }
    }

    private func readRaw(into bytes: inout [UInt8]) async throws(StreamError) -> Int {
        while true {
            if let count = try tryReadingRaw(into: &bytes, at: 0) { return count }
            try await waitUntilReadable()
        }
    }

    // MARK: TLS

    /// Performs the handshake; afterwards `read` and `write` carry plaintext.
    /// - Parameter head: bytes already read from the stream.
    package func startTLS(
        _ context: TLSContext, serverName: String?, head: ArraySlice<UInt8> = []
    ) async throws(StreamError) {
        loop.assertOnLoop()
        let session = try TLSSession(context, stream: self, serverName: serverName, head: head)
        try await session.handshake()
        guard !isClosed else { throw .aborted }
        tls = session
    }

    /// The protocol negotiated by ALPN; nil without TLS, and when the client did not ask.
    package var applicationProtocol: ApplicationProtocol? { tls?.applicationProtocol }

    /// Whether the handshake was abbreviated by a ticket.
    package var isResumed: Bool { tls?.isResumed ?? false }
    package var tlsVersion: TLSVersion? { tls?.version }

    /// The peer's certificate from the handshake, in DER; nil without TLS.
    var peerCertificate: [UInt8]? { tls?.peerCertificate }

    /// Sends small writes at once: a response is one write, and Nagle's delay would only add to it.
    package func disableNagle() {
        try? SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }
}
