internal import HTTPTypes
internal import Logging
internal import Sockets

/// One HTTP/2 connection, from its preface to its end: reads, and answers its streams side by side.
///
/// One task reads and judges; whole requests go to the same handlers as HTTP/1.1's, each in a child task, whose work
/// neither a reset nor a disconnect cancels. Whoever has something to send writes it, unless another task is writing
/// already. Nothing here blocks on the peer but the writer: windows and resets are read whatever the peer does.
///
/// Proof for `@unchecked Sendable`: everything here is touched on the thread of the stream's loop only, `stream` asserts
/// it with every read and write; the reference travels to child tasks, which inherit the preference for that loop.
final class HTTP2Connection: @unchecked Sendable {
    /// What becomes of the socket.
    private enum Ending {
        case close, linger
    }

    private static let requestsPerTurn = 16

    let stream: SocketStream
    let server: HTTPLoop
    let session: HTTP2Session
    let limits: HTTP2Limits
    var streams: [Int32: HTTP2Stream] = [:]
    /// Handlers at work, those of streams that are gone included.
    var running = 0
    var list = HeaderList()
    var scratch: [UInt8] = []
    private var parser: RequestParser
    private var output: [UInt8] = []
    private var isWriting = false
    private var turn = 0
    private var isDead = false

    // Deadlines: the socket has one, the nearest, looked at again when it has passed.
    private var nearest = Deadline.never
    private var writeDeadline = Deadline.never
    private var frameDeadline = Deadline.never
    private var drainDeadline = Deadline.never
    private var idleSince: Deadline
    private var hasAnnouncedShutdown = false
    private var hasShutDown = false

    init?(_ stream: SocketStream, on server: HTTPLoop) {
        limits = HTTP2Limits(server.configuration.limits)
        guard let session = HTTP2Session(limits: limits, wire: server.configuration.limits) else { return nil }
        self.stream = stream
        self.server = server
        self.session = session
        parser = RequestParser(limits: server.configuration.limits)
        idleSince = stream.loop.now
    }

    var timeouts: ServerTimeouts { server.configuration.timeouts }

    func deadline(after milliseconds: Int64) -> Deadline {
        stream.loop.now.adding(milliseconds: milliseconds)
    }

    func run() async {
        stream.hearsOfDraining = true
        frameDeadline = deadline(after: timeouts.header)
        note(frameDeadline)
        var ending = Ending.close
        await withDiscardingTaskGroup { group in
            do throws(StreamError) {
                ending = try await serve(&group)
            } catch {
                ending = .close
            }
            isDead = true
            if ending == .linger { stream.shutdownWrite() }
            // Whoever waits for a window waits in vain now.
            for stream in streams.values { close(stream) }
        }
        stream.hearsOfDraining = false
        switch ending {
        case .close: stream.close()
        case .linger: await stream.lingeringClose(until: deadline(after: timeouts.linger))
        }
    }

    // MARK: Reading

    private func serve(_ group: inout DiscardingTaskGroup) async throws(StreamError) -> Ending {
        if stream.loop.isDraining { beginShutdown() }
        while true {
            try send(&group)
            if isFinished { return try await end() }
            guard let count = try await read(&group) else { continue }
            if count == 0 { return .close }
        }
    }

    /// Reads once and works through it; nil when only a deadline or the drain ended the wait.
    private func read(_ group: inout DiscardingTaskGroup) async throws(StreamError) -> Int? {
        var input = stream.loop.buffers.take()
        defer { stream.loop.buffers.give(input) }
        guard let count = try stream.tryReading(into: &input, at: 0) else {
            // What waits for its next frame holds no buffer.
            stream.loop.buffers.give(input)
            input = []
            giveStorageBack()
            try await wait()
            return nil
        }
        try await work(through: &input, count, &group)
        return count
    }

    private func wait() async throws(StreamError) {
        do throws(StreamError) {
            if nearest == .never { noteAll() }
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
        var index = 0
        var hasContent = false
        while index < count {
            index += session.receive(input, index..<count, now: stream.loop.now)
            if !session.events.isEmpty {
                let events = session.events
                session.events.removeAll(keepingCapacity: true)
                for event in events {
                    if case .content = event { hasContent = true }
                    handle(event, input, &group)
                }
            }
            if turn >= Self.requestsPerTurn {
                turn = 0
                try send(&group)
                await Task.yield()
            }
        }
        noteFrame()
        // A buffer goes from connection to connection, and content may be a password.
        if hasContent { input.replaceSubrange(0..<count, with: repeatElement(0, count: count)) }
    }

    /// A frame that has begun, or a block of fields, must end in time; content has the time of its stream.
    private func noteFrame() {
        guard session.gate.isStarted else { return }
        if session.gate.isInsideFrame, !(session.gate.isInsideData && !streams.isEmpty) {
            guard frameDeadline == .never else { return }
            frameDeadline = deadline(after: timeouts.header)
            note(frameDeadline)
        } else {
            frameDeadline = .never
        }
    }

    private func giveStorageBack() {
        guard streams.isEmpty, running == 0 else { return }
        session.assembler.giveStorageBack()
        list.giveStorageBack()
        scratch = []
        if !isWriting, output.isEmpty { output = [] }
    }

    // MARK: Events

    private func handle(_ event: HTTP2Session.Event, _ input: [UInt8], _ group: inout DiscardingTaskGroup) {
        switch event {
        case .request(let id, let ends):
            turn += 1
            idleSince = stream.loop.now
            if let request = takeRequest(id, ends: ends) { start(request, &group) }
        case .content(let id, let range):
            takeContent(id, input, range)
        case .ended(let id):
            if let stream = streams[id] { finishRequest(stream, &group) }
        case .trailers(let id, let ends):
            takeTrailers(id, ends: ends, &group)
        case .closed, .answeredEarly, .drained, .pingAcknowledged:
            settle(event)
        }
    }

    /// What happened to what is being sent.
    private func settle(_ event: HTTP2Session.Event) {
        switch event {
        case .closed(let id):
            idleSince = stream.loop.now
            if let stream = streams.removeValue(forKey: id) { close(stream) }
        case .answeredEarly(let id):
            discardRest(of: streams[id] ?? HTTP2Stream(id: id, request: nil))
        case .drained(let id):
            streams[id]?.wake()
        case .pingAcknowledged:
            if hasAnnouncedShutdown { finishShutdown() }
        default: break
        }
    }

    private func close(_ stream: HTTP2Stream) {
        stream.isClosed = true
        stream.deadline = .never
        stream.request = nil
        if !stream.isAnswered { stream.body.wipe() }
        releaseWindow(of: stream)
        stream.wake()
    }

    func releaseWindow(of stream: HTTP2Stream) {
        session.creditConnection(stream.held)
        stream.held = 0
    }

    /// Reads a head; a stream when there is something left for a handler to do.
    private func takeRequest(_ id: Int32, ends: Bool) -> HTTP2Stream? {
        defer { session.assembler.release() }
        let head: [UInt8]
        do throws(RequestAssembler.Failure) {
            head = try session.assembler.takeHead()
        } catch {
            switch error {
            case .malformed(let reason): malformed(id, reason)
            case .refused(let error): refuse(id, error)
            }
            return nil
        }
        let stream = parse(head, id, ends: ends)
        session.assembler.bringBack(head)
        return stream
    }

    private func parse(_ head: [UInt8], _ id: Int32, ends: Bool) -> HTTP2Stream? {
        defer { parser.reset() }
        do throws(WireError) {
            guard try parser.parse(head.span) == head.count else {
                malformed(id, "head that does not end")
                return nil
            }
        } catch {
            refuse(id, error)
            return nil
        }
        var expected: Int?
        if case .length(let count) = parser.head.framing {
            expected = count
        } else if parser.head.first(.contentLength) != nil {
            expected = 0
        }
        if ends {
            guard expected ?? 0 == 0 else {
                malformed(id, "Content-Length without content")
                return nil
            }
            if answerAtOnce(id, head) { return nil }
        }
        // A client that resets what it asked for has handlers at work all the same.
        guard running + unanswered < limits.concurrentStreams else {
            session.resetFaulty(id, .refusedStream)
            return nil
        }
        let stream = HTTP2Stream(
            id: id, request: server.makeRequest(parser.head, in: head, from: stream), expected: expected)
        streams[id] = stream
        guard !ends else { return stream }
        if parser.head.expectsContinue { sendContinue(id) }
        stream.body.reserveCapacity(min(expected ?? Self.reservedContent, Self.reservedContent))
        stream.deadline = deadline(after: timeouts.body)
        note(stream.deadline)
        return nil
    }

    /// Requests whose content is still to come.
    private var unanswered: Int { streams.values.reduce(0) { $0 + ($1.isAnswered ? 0 : 1) } }

    /// As much is set aside for content before it comes, in bytes; what is short is never copied by growing.
    private static let reservedContent = 8192

    /// The fast path of HTTP/1.1, from the same bytes.
    private func answerAtOnce(_ id: Int32, _ head: [UInt8]) -> Bool {
        guard let immediate = server.immediate else { return false }
        let (now, date) = server.currentTime()
        scratch.removeAll(keepingCapacity: true)
        guard
            immediate.respond(
                to: parser.head, in: head.span, peer: stream.peer.ip, now: now, date: date,
                into: &scratch)
        else { return false }
        guard list.takeHead(&scratch) else { return false }
        session.respond(to: id, list, content: nil)
        return true
    }

    /// A client that is still sending when it has its answer may not read that before it is done, so it has a moment
    /// for it, as after HTTP/1.1's last response (`lingeringClose`). Then the stream is reset (RFC 9113 §8.1).
    private func discardRest(of stream: HTTP2Stream) {
        streams[stream.id] = stream
        stream.isAnswered = true
        stream.leftToDiscard = 262_144
        stream.deadline = deadline(after: timeouts.linger)
        note(stream.deadline)
    }

    private func discard(_ count: Int, of stream: HTTP2Stream?, _ id: Int32) {
        session.creditConnection(count)
        guard let stream, let left = stream.leftToDiscard else { return }
        stream.leftToDiscard = left - count
        if left > count { session.creditStream(id, count) } else { session.reset(id, .noError) }
    }

    private func takeContent(_ id: Int32, _ input: [UInt8], _ range: Range<Int>) {
        guard let stream = streams[id], !stream.isAnswered, stream.request != nil else {
            return discard(range.count, of: streams[id], id)
        }
        let total = stream.body.count + range.count
        guard total <= server.configuration.limits.body else {
            session.creditConnection(range.count)
            stream.body.wipe()
            return refuse(stream, .bodyTooLarge)
        }
        // RFC 9113 §8.1.1.
        guard total <= stream.expected ?? .max else {
            session.creditConnection(range.count)
            return malformed(id, "more content than announced")
        }
        stream.body.append(contentsOf: input[range])
        stream.held += range.count
        // What a body may be is bounded, and the connection's window bounds them all.
        if server.configuration.limits.body >= limits.streamWindow { session.creditStream(id, range.count) }
    }

    private func takeTrailers(_ id: Int32, ends: Bool, _ group: inout DiscardingTaskGroup) {
        guard let stream = streams[id], stream.request != nil else { return }
        do throws(RequestAssembler.Failure) {
            try session.assembler.finish()
        } catch {
            switch error {
            case .malformed(let reason): return malformed(id, reason)
            case .refused(let error): return refuse(stream, error)
            }
        }
        // RFC 9113 §8.1: fields behind the content end the request.
        guard ends else { return malformed(id, "trailer section that does not end the request") }
        finishRequest(stream, &group)
    }

    private func finishRequest(_ stream: HTTP2Stream, _ group: inout DiscardingTaskGroup) {
        guard !stream.isAnswered, stream.request != nil else { return }
        guard stream.expected == nil || stream.expected == stream.body.count else {
            return malformed(stream.id, "less content than announced")
        }
        start(stream, &group)
    }

    private func start(_ stream: HTTP2Stream, _ group: inout DiscardingTaskGroup) {
        guard var request = stream.request else { return }
        stream.request = nil
        stream.deadline = .never
        stream.isAnswered = true
        running += 1
        swap(&request.body, &stream.body)
        let answer = HTTP2Answer(stream, request)
        group.addTask { [self] in await respond(answer) }
    }

    // MARK: Deadlines

    /// One more moment to look at the clock.
    func note(_ deadline: Deadline) {
        guard deadline < nearest else { return }
        nearest = deadline
        stream.setDeadline(deadline)
    }

    private func noteAll() {
        nearest = .never
        note(writeDeadline)
        note(frameDeadline)
        note(drainDeadline)
        for stream in streams.values { note(stream.deadline) }
        if isIdle { note(idleSince.adding(milliseconds: timeouts.idle)) }
        if nearest == .never { stream.setDeadline(.never) }
    }

    private var isIdle: Bool {
        streams.isEmpty && running == 0 && output.isEmpty && frameDeadline == .never
    }

    /// Does what is due, and sets the next deadline.
    private func expire() {
        let now = stream.loop.now
        if writeDeadline <= now { return abort() }
        if frameDeadline <= now {
            frameDeadline = .never
            let code = session.gate.isStarted ? HTTP2ErrorCode.enhanceYourCalm : .settingsTimeout
            session.fail(HTTP2Failure(code, "a frame came too slowly"))
        }
        if drainDeadline <= now { finishShutdown() }
        for stream in streams.values where stream.deadline <= now {
            if stream.leftToDiscard != nil {
                stream.deadline = .never
                session.reset(stream.id, .noError)
            } else if !stream.isAnswered {
                refuse(stream, status: .requestTimeout, reason: "the content came too slowly")
            } else if stream.hasProgressed {
                stream.expectProgress(batch: limits.pendingContent, until: deadline(after: timeouts.write))
            } else {
                server.logger.debug("response was not taken", metadata: ["reason": "window"])
                stream.deadline = .never
                session.resetFaulty(stream.id, .cancel)
            }
        }
        if isIdle, idleSince.adding(milliseconds: timeouts.idle) <= now { finishShutdown() }
        noteAll()
    }

    private func abort() {
        isDead = true
        stream.close()
    }

    // MARK: Ending

    private func beginShutdown() {
        guard !hasAnnouncedShutdown else { return }
        hasAnnouncedShutdown = true
        stream.hearsOfDraining = false
        session.announceShutdown()
        // A client that does not answer the PING has had its time.
        drainDeadline = deadline(after: 1000)
        note(drainDeadline)
    }

    private func finishShutdown() {
        drainDeadline = .never
        guard !hasShutDown else { return }
        hasShutDown = true
        session.shutDown()
    }

    /// Nothing more will be read or sent.
    private var isFinished: Bool {
        output.isEmpty && !isWriting && session.isOver
    }

    private func end() async throws(StreamError) -> Ending {
        if let failure = session.failure {
            server.logger.debug(
                "connection ended", metadata: ["code": "\(failure.code)", "reason": "\(failure.reason)"])
        }
        return .linger
    }

    // MARK: Writing

    /// Sends what can be sent now; a task takes over when the socket is full.
    private func send(_ group: inout DiscardingTaskGroup) throws(StreamError) {
        guard !isWriting, try !writeSome() else { return }
        isWriting = true
        group.addTask { [self] in await write() }
    }

    /// Sends everything there is; or nothing, when another task is at it and will.
    func flush() async {
        guard !isWriting, !isDead else { return }
        do throws(StreamError) {
            if try writeSome() { return wakeReader() }
        } catch {
            return abort()
        }
        isWriting = true
        await write()
    }

    private func write() async {
        defer { isWriting = false }
        while !isDead {
            do throws(StreamError) {
                if try writeSome() { return wakeReader() }
                try await stream.waitUntilWritable()
            } catch {
                switch error {
                case .deadline: expire()
                case .draining: beginShutdown()
                default: return abort()
                }
            }
        }
    }

    /// The reader has to end the connection, or to see that it is over.
    private func wakeReader() {
        if session.isOver, !isDead { stream.setDeadline(stream.loop.now) }
    }

    /// Serialises and sends until there is nothing left, or the socket is full: then false.
    private func writeSome() throws(StreamError) -> Bool {
        while true {
            if output.isEmpty {
                session.pull(into: &output, limit: limits.output)
                let events = session.events
                session.events.removeAll(keepingCapacity: true)
                for event in events { settle(event) }
                guard !output.isEmpty else {
                    writeDeadline = .never
                    return true
                }
                writeDeadline = deadline(after: timeouts.write)
                note(writeDeadline)
            }
            let sent = try stream.tryWriting(output)
            if sent < output.count {
                output.removeFirst(sent)
                return false
            }
            output.removeAll(keepingCapacity: true)
        }
    }
}
