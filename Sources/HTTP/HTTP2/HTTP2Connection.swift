internal import HTTPTypes
internal import Logging
internal import Sockets

/// One HTTP/2 connection, from its preface to its end: reads, and answers its streams concurrently.
///
/// One task reads and judges. Complete requests go to the same handlers as HTTP/1.1's, each in a child task that
/// neither a reset nor a disconnect cancels. Any task that has output writes it, unless another task is already
/// writing. Only the writer waits for the peer: window updates and resets are read whatever the peer does.
///
/// Proof for `@unchecked Sendable`: everything here is touched only on the thread of the stream's loop, which `stream`
/// asserts with every read and write; the reference travels only to child tasks, which inherit the preference for that
/// loop.
final class HTTP2Connection: @unchecked Sendable {
    /// What happens to the socket.
    private enum Ending {
        case close, linger
    }

    private static let requestsPerTurn = 16

    let stream: SocketStream
    let server: HTTPLoop
    let session: HTTP2Session
    let limits: HTTP2Limits
    /// Memory that the peer makes us keep.
    let account: MemoryAccount
    /// Of that, the part for a field block that has not ended, and for frames that wait for the socket.
    private var keptBlock = 0
    private var keptQueue = 0
    var streams: [Int32: HTTP2Stream] = [:]
    /// Running handlers, including those of streams that are gone.
    var running = 0
    let workspace: HTTP2Workspace
    var output: [UInt8] = []
    private(set) var isWriting = false
    private var turn = 0
    /// Storage for events between two calls.
    private var spare: [HTTP2Session.Event] = []
    /// The peer sends nothing more: output waits for a window in vain, but not for the socket.
    var peerHasEnded = false
    var isDead = false

    // Deadlines: the socket has one, the nearest, re-evaluated when it has passed.
    var nearest = Deadline.never
    var writeDeadline = Deadline.never
    var frameDeadline = Deadline.never
    var drainDeadline = Deadline.never
    var idleSince: Deadline
    var hasAnnouncedShutdown = false
    var hasShutDown = false

    init?(_ stream: SocketStream, on server: HTTPLoop) {
        var limits = HTTP2Limits(server.configuration.limits)
        // A proxy carries uploads of many clients: a few slow ones must not block the others.
        if server.isFromTrustedProxy(stream) { limits.awaitedContents = limits.concurrentStreams }
        self.limits = limits
        guard let session = HTTP2Session(limits: limits, wire: server.configuration.limits) else { return nil }
        self.stream = stream
        self.server = server
        self.session = session
        account = server.makeAccount(of: stream)
        workspace = server.http2
        idleSince = stream.loop.now
    }

    var timeouts: ServerTimeouts { server.configuration.timeouts }

    func deadline(after milliseconds: Int64) -> Deadline { stream.loop.now.adding(milliseconds: milliseconds) }

    func run() async {
        stream.endsReadOnDrain = true
        frameDeadline = deadline(after: timeouts.header)
        update(frameDeadline)
        var ending = Ending.close
        await withDiscardingTaskGroup { group in
            do {
                ending = try await serve(&group)
                if ending == .linger { isDead = true }
            } catch {
                abort()
            }
            if ending == .linger { stream.shutdownWrite() }
            // The peer has only closed its own side: complete requests are answered.
            peerHasEnded = true
            endWaiting()
        }
        stream.endsReadOnDrain = false
        switch ending {
        case .close: stream.close()
        case .linger: await server.linger(stream)
        }
    }

    // MARK: Reading

    private func serve(_ group: inout DiscardingTaskGroup) async throws(StreamError) -> Ending {
        if stream.loop.isEnding { beginShutdown() }
        while true {
            try send(&group)
            if isFinished { return end() }
            countQueue()
            guard let count = try await read(&group) else { continue }
            if count == 0 { return .close }
        }
    }

    /// Reads once and processes the input; nil when only a deadline or the drain ended the wait.
    private func read(_ group: inout DiscardingTaskGroup) async throws(StreamError) -> Int? {
        var input = stream.loop.buffers.acquire()
        defer { stream.loop.buffers.release(input) }
        guard let count = try stream.tryReading(into: &input, at: 0) else {
            stream.loop.buffers.release(input)
            input = []
            releaseStorage()
            try await wait()
            return nil
        }
        try await work(through: &input, count, &group)
        if stream.isTurnOver {
            try send(&group)
            await stream.endTurn()
            // A peer that never lets us wait is still subject to the clock.
            if nearest <= stream.loop.now { expire() }
        }
        return count
    }

    private func wait() async throws(StreamError) {
        do {
            updateIdle()
            // A crowded server first closes connections without a request.
            stream.waitsForHead = streams.isEmpty && running == 0
            defer { stream.waitsForHead = false }
            try await stream.waitUntilReadable()
        } catch {
            switch error {
            case .deadline: expire()
            case .draining: beginShutdown()
            default: throw error
            }
        }
    }

    private func work(
        through input: inout [UInt8], _ count: Int, _ group: inout DiscardingTaskGroup
    ) async throws(StreamError) {
        if !session.assembler.hasStorage { session.assembler.adopt(workspace.acquire()) }
        var index = 0
        var hasContent = false
        while index < count {
            index += session.receive(input, index..<count, now: stream.loop.now)
            forEachEvent { event in
                if case .content = event { hasContent = true }
                handle(event, input, &group)
            }
            if turn >= Self.requestsPerTurn {
                turn = 0
                try send(&group)
                await stream.endTurn()
            }
        }
        countFrame()
        countBlock()
        // A buffer moves from connection to connection, and content may be a token.
        if hasContent { input.replaceSubrange(0..<count, with: repeatElement(0, count: count)) }
    }

    /// Counts an unfinished field block: what was assembled of it, and nghttp2's partial field.
    private func countBlock() {
        let size = session.gate.openBlockBytes
        let kept = size > 0 ? session.assembler.capacity + 2 * size : 0
        guard kept != keptBlock else { return }
        guard account.keep(kept, insteadOf: keptBlock) else {
            return session.fail(HTTP2Failure(.enhanceYourCalm, "no memory left for an unfinished header block"))
        }
        keptBlock = kept
    }

    /// Counts answers that wait for the socket. They are not refused; the next request finds less room.
    private func countQueue() {
        let frames = isWriting ? session.queuedFrames : 0
        if frames > limits.queuedFrames {
            session.fail(HTTP2Failure(.enhanceYourCalm, "too many unread responses"))
        }
        let kept = isWriting ? output.capacity + frames * 1024 : 0
        guard kept != keptQueue else { return }
        account.keep(kept, insteadOf: keptQueue, isForced: true)
        keptQueue = kept
    }

    /// A frame or field block that has begun must end in time; content has its stream's time.
    private func countFrame() {
        guard session.gate.isStarted else { return }
        if session.gate.isInsideFrame, !(session.gate.isInsideData && !streams.isEmpty) {
            guard frameDeadline == .never else { return }
            frameDeadline = deadline(after: timeouts.header)
            update(frameDeadline)
        } else {
            frameDeadline = .never
        }
    }

    /// A connection that waits for its next frame holds no buffers.
    private func releaseStorage() {
        if session.assembler.hasStorage, !session.gate.isInsideFrame {
            workspace.release(session.assembler.releaseStorage())
        }
        if !isWriting, output.isEmpty, output.capacity > 0 {
            stream.loop.buffers.releaseOutput(output)
            output = []
        }
    }

    // MARK: Events

    /// Passes on the events; new ones that handling causes come with the next call.
    private func forEachEvent(_ body: (HTTP2Session.Event) -> Void) {
        guard !session.events.isEmpty else { return }
        var events = spare
        spare = []
        swap(&events, &session.events)
        for event in events { body(event) }
        events.removeAll(keepingCapacity: true)
        spare = events
    }

    private func handle(_ event: HTTP2Session.Event, _ input: [UInt8], _ group: inout DiscardingTaskGroup) {
        switch event {
        case .request(let id, let ends):
            turn += 1
            idleSince = stream.loop.now
            if let request = acceptRequest(id, ends: ends) { start(request, &group) }
        case .content(let id, let range): acceptContent(id, input, range)
        case .ended(let id):
            if let stream = streams[id] { finishRequest(stream, &group) }
        case .trailers(let id, let ends): acceptTrailers(id, ends: ends, &group)
        case .closed, .answeredEarly, .drained, .pingAcknowledged: settle(event)
        }
    }

    private func settle(_ event: HTTP2Session.Event) {
        switch event {
        case .closed(let id):
            idleSince = stream.loop.now
            if let stream = streams.removeValue(forKey: id) { close(stream) }
        case .answeredEarly(let id): discardRest(of: streams[id] ?? HTTP2Stream(id: id, request: nil))
        case .drained(let id): streams[id]?.wake()
        case .pingAcknowledged:
            if hasAnnouncedShutdown { finishShutdown() }
        default: break
        }
    }

    func close(_ stream: HTTP2Stream) {
        stream.isClosed = true
        stream.deadline = .never
        stream.request = nil
        // A handler's request is its own until it has answered.
        if !stream.isAnswered { release(stream) }
        account.release(stream.keptAnswer)
        stream.keptAnswer = 0
        releaseWindow(of: stream)
        stream.departure?.leave()
        stream.wake()
    }

    func release(_ stream: HTTP2Stream) {
        stream.body.wipe()
        account.release(stream.kept)
        stream.kept = 0
    }

    func releaseWindow(of stream: HTTP2Stream) {
        session.creditConnection(stream.held)
        stream.held = 0
    }

    // MARK: Ending

    /// Ends what waits in vain once nothing more is read. Output in progress may still take their content.
    private func endWaiting() {
        for stream in streams.values { stream.departure?.leave() }
        for stream in streams.values where isDead || stream.request != nil || !isWriting && stream.isWaiting {
            close(stream)
        }
    }

    private var isFinished: Bool { output.isEmpty && !isWriting && session.isOver }

    private func end() -> Ending {
        if let failure = session.failure {
            server.logger.debug(
                "connection ended", metadata: ["code": "\(failure.code)", "reason": "\(failure.reason)"])
        }
        return .linger
    }

    // MARK: Writing

    private enum Progress {
        case done
        /// A batch was sent; others get their turn.
        case more
        /// The socket is full.
        case blocked
    }

    /// Sends what can be sent now; a task takes over the rest.
    private func send(_ group: inout DiscardingTaskGroup) throws(StreamError) {
        guard !isWriting, try writeBatch() != .done else { return }
        isWriting = true
        group.addTask { [self] in await write() }
    }

    /// Sends all output; returns at once when another task is doing so.
    func flush() async {
        guard !isWriting, !isDead else { return }
        isWriting = true
        await write()
    }

    private func write() async {
        defer {
            isWriting = false
            countQueue()
            if peerHasEnded { endWaiting() }
        }
        while !isDead {
            do {
                switch try writeBatch() {
                case .done: return wakeReader()
                case .more: await Task.yield()
                case .blocked: try await stream.waitUntilWritable()
                }
            } catch {
                switch error {
                case .deadline: expire()
                case .draining: beginShutdown()
                default: return abort()
                }
            }
        }
    }

    /// The reader must notice that the connection has ended, or is idle from now on.
    private func wakeReader() {
        guard !isDead else { return }
        if session.isOver {
            stream.setDeadline(stream.loop.now)
        } else {
            updateIdle()
        }
    }

    /// Serialises and sends at most `limits.output` bytes, so that all senders get their share.
    private func writeBatch() throws(StreamError) -> Progress {
        if output.isEmpty {
            if output.capacity == 0 { output = stream.loop.buffers.acquireOutput() }
            session.pull(into: &output, limit: limits.output)
            forEachEvent { settle($0) }
            guard !output.isEmpty else {
                writeDeadline = .never
                return .done
            }
            writeDeadline = deadline(after: timeouts.write)
            update(writeDeadline)
        }
        let sent = try stream.tryWriting(output)
        guard sent == output.count else {
            output.removeFirst(sent)
            return .blocked
        }
        output.removeAll(keepingCapacity: true)
        // Tasks with output while this batch waited for the socket have left it to this writer, and events of the pull
        // may have returned windows.
        if session.hasOutput { return .more }
        writeDeadline = .never
        return .done
    }
}
