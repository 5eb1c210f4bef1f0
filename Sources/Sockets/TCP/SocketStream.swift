internal import CLinux
internal import Glibc

/// A connected, non-blocking TCP stream, optionally under TLS, owned by one task of its loop.
///
/// Registered once, edge-triggered, for both directions: `isReadable` and `isWritable` remember what epoll said until
/// a call says EAGAIN. One task may wait to read while another waits to write; two of one kind are a bug.
///
/// Proof for `@unchecked Sendable`: `socketPeer`, `service`, `descriptor` and `admission` never change. The other
/// properties are those of a `Channel`: what reads or writes them is called by the loop (`ready`, `expired`, `drain`,
/// `abort`) or asserts that it runs there, the plain flags between requests included, which only the connection's task
/// touches, as it does `peer`. `deinit` runs when nobody else has a reference.
@safe package final class SocketStream: Channel, @unchecked Sendable {
    private enum Wake {
        case ready, deadline, draining, aborted
    }

    /// Who is at the other end of the socket.
    package let socketPeer: SocketAddress
    /// Who is at the other end as far as is known: `socketPeer`, or whom its PROXY header names.
    package private(set) var peer: SocketAddress
    /// Whether its PROXY header has been read.
    package private(set) var isIntroduced = false
    /// Whether a proxy relays somebody here whom it does not name.
    package private(set) var isAnonymous = false
    /// Which of the process's listeners it came through, as `Listener.start` was told.
    package let service: Int
    /// Whether it has answered a request before: then the idle limit holds for it, not the one for a first request.
    package var isReused = false
    let descriptor: Int32
    /// Whether a read is worth trying: epoll said so, and no call has said EAGAIN since.
    package internal(set) var isReadable = true
    private var isWritable = true
    private(set) var sawHangUp = false
    private(set) var isClosed = false
    private var reader: UnsafeContinuation<Wake, Never>?
    private var writer: UnsafeContinuation<Wake, Never>?
    private var isParked = false
    /// Counts the turns its task had: one ends where it waits, and where it lets the others go first.
    package internal(set) var turn = 0
    /// Bytes that came in this turn, as the socket has them: whatever protocol is spoken, they cost about the same.
    var turnBytes = 0
    private let admission: AdmissionControl?
    private(set) var tls: TLSSession?

    /// Whether nothing is in flight: set by the server between requests, so that draining may end the wait.
    package var isIdle = false
    /// Whether draining also ends a wait to read while something is in flight: a connection of many requests says then
    /// that it takes no more of them.
    package var hearsOfDraining = false
    /// Whether no request is in flight, though one may have begun to come, so that it may be closed to make room for
    /// others: set by the server while it waits for the rest of a head, or lingers.
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
        do throws(SystemError) {
            try loop.register(self, descriptor: self.descriptor, events: events)
        } catch {
            // `descriptor` closes it. A second close by `deinit` could hit whoever got the number meanwhile.
            isClosed = true
            throw error
        }
        _ = descriptor.release()
    }

    deinit {
        if !isClosed { _ = Glibc.close(descriptor) }
    }

    package var isSecure: Bool { tls != nil }
    /// Whether `close` has been called, by us or by a deadline.
    package var hasEnded: Bool { isClosed }
    /// Whether the peer has closed its side, as far as epoll has told.
    package var peerHasClosed: Bool { sawHangUp }

    // MARK: Reading

    /// Reads at least one byte into `bytes[offset...]`; 0 at the end of the stream. Who always has something for us waits
    /// for the others every `bytesPerTurn`, and is not exempt from the clock.
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

    /// Reads what is there without waiting; nil when nothing is (under TLS: when no whole record is).
    package func tryReading(into bytes: inout [UInt8], at offset: Int) throws(StreamError) -> Int? {
        loop.assertOnLoop()
        if let tls {
            guard mayRead else { return nil }
            guard !isClosed else { throw .aborted }
            return try tls.read(into: &bytes, at: offset)
        }
        return try tryReadingRaw(into: &bytes, at: offset)
    }

    /// Whether a read may bring something, or under TLS what a read has to send before.
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

    /// One recv(2), unless epoll has said that there is nothing. Once closed, the descriptor may be another's.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> SystemCalls.Transfer {
        guard !isClosed else { return .failed(ECONNABORTED) }
        guard isReadable else { return .wouldBlock }
        let outcome = unsafe SystemCalls.receive(descriptor, into: buffer)
        switch outcome {
        case .moved(let count):
            // A short read emptied the socket: the next bytes raise a new edge. Not after a hang-up, whose edge has
            // been and gone.
            if count < buffer.count && !sawHangUp { isReadable = false }
            turnBytes += count
        case .wouldBlock: isReadable = false
        case .failed: break
        }
        return outcome
    }

    /// Looks at what is there and leaves it: from the first unread byte on, 0 at the end of the stream, nil when nothing
    /// has come. Whoever needs more of it than there is calls `markUnreadable` and waits for the next edge.
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

    /// Takes over what a PROXY header says; false when the address it names has too many connections.
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
            // Invariant: `resumeReader` takes the continuation out before it resumes it, so it is resumed exactly
            // once; the loop keeps this channel registered until then.
            beginTurn()
            try Self.check(await unsafe withUnsafeContinuation { unsafe reader = $0 })
        }
    }

    /// The caller has read everything that has come.
    func markUnreadable() {
        loop.assertOnLoop()
        isReadable = false
    }

    // MARK: Writing

    /// Hands all of `bytes` to the kernel, waiting as often as it must.
    /// - Parameter offset: how many of them it has already.
    package func write(_ bytes: [UInt8], from offset: Int = 0) async throws(StreamError) {
        var sent = offset
        while sent < bytes.count {
            sent += try tryWriting(bytes, from: sent)
            if sent < bytes.count { try await waitUntilWritable() }
        }
    }

    /// Sends without waiting; how many bytes the kernel took, or OpenSSL in whole records. Under TLS what was not taken
    /// is what the next call must begin with: part of it may be on its way.
    package func tryWriting(_ bytes: [UInt8]) throws(StreamError) -> Int {
        try tryWriting(bytes, from: 0)
    }

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
        if loop.isDraining && isIdle || loop.isEnding && hearsOfDraining { throw .draining }
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
            // What has arrived is in flight from now on, not only when the task has looked at it.
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
    private var isUnattended: Bool {
        unsafe isIdle && reader == nil && writer == nil
    }

    override func ready(_ events: UInt32) {
        let failed = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        if events & EPOLLRDHUP.rawValue != 0 || failed { sawHangUp = true }
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
            // A request may have come of which epoll has not told yet: it is still answered.
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
        } else if hearsOfDraining {
            resumeReader(.draining)
        }
    }

    /// Its next answer is its last, which the server says with it; a connection of many requests says so at once.
    override func retire() {
        if !isParked, hearsOfDraining { resumeReader(.draining) }
    }

    override func abort() {
        abandon()
    }

    override func isExpendable(among admission: AdmissionControl) -> Bool {
        (isParked || waitsForHead) && self.admission === admission
    }

    override func closeIfIdle() -> Bool {
        // A request may have come of which epoll has not told yet.
        guard isParked || waitsForHead, !SystemCalls.hasInput(descriptor) else { return false }
        abandon()
        return true
    }

    // MARK: Parking

    /// Whether nothing of it waits in TLS: neither input that was read together with the last nor output.
    package var mayPark: Bool { tls?.isAtRest ?? true }

    /// Leaves the connection with the loop, without a task, until it is readable; then it arrives anew. The caller
    /// holds no unread bytes and returns at once. At the deadline the loop closes it. A TLS session stays with it,
    /// without buffers.
    package func park() {
        loop.assertOnLoop()
        if loop.isDraining || isClosed { return close() }
        isParked = true
        if isReadable || tls?.hasInput == true { unpark() }
    }

    /// Leaves a connection that was just accepted with the loop until its first byte is there, or until `deadline`: one
    /// that never sends costs no task. Registering told epoll to report what has come already.
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

    /// Closes because the peer's time is up. What it has not taken by now is thrown away, by a reset: the kernel would
    /// keep it, up to some megabytes, for as long as the peer takes a byte now and then.
    package func abandon() {
        loop.assertOnLoop()
        if !isClosed, bramley_unsent_bytes(descriptor) > 0 {
            SystemCalls.resetOnClose(descriptor)
            // Its alert would wait behind the rest.
            tls = nil
        }
        close()
    }

    /// Closes so that the peer can read what we sent last even while it is still sending: half-closes, then reads and
    /// throws away input until the end (RFC 9112 §9.6). Closing at once would reset the connection, and the reset may
    /// overtake the answer.
    /// - Parameters:
    ///   - silence: milliseconds without a byte, after which the peer is done.
    ///   - deadline: the end, however much still comes.
    ///   - taken: by then the peer has taken what we sent, or the rest is dropped.
    package func lingeringClose(silence: Int64, until deadline: Deadline, taken: Deadline) async {
        shutdownWrite()
        // What comes now is thrown away as it is.
        tls = nil
        waitsForHead = true
        do throws(StreamError) {
            try await discardInput(silence: silence, until: deadline)
        } catch {
            return close()
        }
        // Closed meanwhile, the descriptor may be another's.
        while !isClosed, loop.now < taken, bramley_unsent_bytes(descriptor) > 0 {
            // No event tells when it is taken: a look now and then. One tells when the connection breaks.
            isReadable = false
            setDeadline(min(taken, loop.now.adding(milliseconds: silence)))
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
            do throws(StreamError) {
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

    /// Performs the handshake; afterwards `read` and `write` carry plain bytes.
    /// - Parameter head: what was read from the stream before.
    package func startTLS(
        _ context: TLSContext, serverName: String?, head: ArraySlice<UInt8> = []
    ) async throws(StreamError) {
        loop.assertOnLoop()
        let session = try TLSSession(context, stream: self, serverName: serverName, head: head)
        try await session.handshake()
        guard !isClosed else { throw .aborted }
        tls = session
    }

    /// What both sides agreed to speak by ALPN; nil without TLS, and when the client did not ask.
    package var applicationProtocol: ApplicationProtocol? { tls?.applicationProtocol }

    /// Whether the handshake was an abbreviated one, by a ticket.
    package var isResumed: Bool { tls?.isResumed ?? false }

    /// What was agreed on; nil without TLS.
    package var tlsVersion: TLSVersion? { tls?.version }

    /// What the other side showed in the handshake, as ASN.1 has it; nil without TLS.
    var peerCertificate: [UInt8]? { tls?.peerCertificate }

    /// Orders small writes out at once: a response is one write, and Nagle's delay would only add to it.
    package func disableNagle() {
        try? SystemCalls.setOption(descriptor, level: Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }
}
