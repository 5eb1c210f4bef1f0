internal import HTTPTypes
internal import Sockets

/// What arrives on streams: heads, content and trailers, until a handler has the whole request.
extension HTTP2Connection {
    /// Reads a head; returns a stream when a handler still has work to do.
    func acceptRequest(_ id: Int32, ends: Bool) -> HTTP2Stream? {
        defer { session.assembler.release() }
        let head: [UInt8]
        do {
            head = try session.assembler.consumeHead()
        } catch {
            switch error {
            case .malformed(let reason): malformed(id, reason)
            case .refused(let error): refuse(id, error)
            }
            return nil
        }
        let stream = parse(head, id, ends: ends)
        session.assembler.returnStorage(head)
        return stream
    }

    private func parse(_ head: [UInt8], _ id: Int32, ends: Bool) -> HTTP2Stream? {
        defer { workspace.parser.reset() }
        do {
            guard try workspace.parser.parse(head.span) == head.count else {
                malformed(id, "head that does not end")
                return nil
            }
        } catch {
            refuse(id, error)
            return nil
        }
        var expected: Int?
        if case .length(let count) = workspace.parser.head.framing {
            expected = count
        } else if workspace.parser.head.first(.contentLength) != nil {
            expected = 0
        }
        if ends {
            guard expected ?? 0 == 0 else {
                malformed(id, "Content-Length without content")
                return nil
            }
            // While answers wait for the socket, another one is counted first, like any request.
            if !isWriting, answerAtOnce(id, head) { return nil }
        }
        let size = MemoryAccount.size(ofHead: head.count, fields: workspace.parser.head.fields.count)
        let unanswered = self.unanswered
        // Handlers keep running when a client resets their requests.
        guard running + unanswered < limits.concurrentStreams else {
            session.resetFaulty(id, .refusedStream)
            return nil
        }
        // The client has kept to our SETTINGS, so this is not its fault.
        guard ends || unanswered < limits.awaitedContents, account.keep(size) else {
            session.reset(id, .refusedStream)
            return nil
        }
        let request = server.makeRequest(workspace.parser.head, in: head, from: stream, version: .http2)
        let stream = HTTP2Stream(id: id, request: request, expected: expected)
        stream.kept = size
        streams[id] = stream
        guard !ends else { return stream }
        // RFC 9110 §10.1.1: the parser accepts no other expectation.
        if workspace.parser.head.first(.expect) != nil { sendContinue(id) }
        stream.deadline = deadline(after: timeouts.body)
        update(stream.deadline)
        return nil
    }

    /// Requests whose content is incomplete.
    private var unanswered: Int { streams.values.reduce(0) { $0 + ($1.isAnswered ? 0 : 1) } }

    /// Room reserved for content with its first bytes; short content is then never copied by growing.
    private static let reservedContent = 8192

    /// The fast path of HTTP/1.1, from the same bytes.
    private func answerAtOnce(_ id: Int32, _ head: [UInt8]) -> Bool {
        guard !stream.isAnonymous, let immediate = server.immediate else { return false }
        let (now, date) = server.currentTime()
        workspace.scratch.removeAll(keepingCapacity: true)
        guard
            immediate.respond(
                to: workspace.parser.head, in: head.span, peer: stream.peer.ip, now: now, date: date,
                into: &workspace.scratch)
        else { return false }
        guard workspace.list.consumeHead(&workspace.scratch) else { return false }
        session.respond(to: id, workspace.list, content: nil)
        return true
    }

    /// A client that is still sending when it gets its answer may read it only afterwards, so it gets a moment, as
    /// after HTTP/1.1's last response (`lingeringClose`). Then the stream is reset (RFC 9113 §8.1).
    func discardRest(of stream: HTTP2Stream) {
        streams[stream.id] = stream
        stream.isAnswered = true
        stream.leftToDiscard = 262_144
        stream.deadline = deadline(after: timeouts.linger)
        update(stream.deadline)
    }

    private func discard(_ count: Int, of stream: HTTP2Stream?, _ id: Int32) {
        session.creditConnection(count)
        guard let stream, let left = stream.leftToDiscard else { return }
        stream.leftToDiscard = left - count
        if left > count { session.creditStream(id, count) } else { session.reset(id, .noError) }
    }

    func acceptContent(_ id: Int32, _ input: [UInt8], _ range: Range<Int>) {
        guard let stream = streams[id], !stream.isAnswered, stream.request != nil else {
            return discard(range.count, of: streams[id], id)
        }
        let total = stream.body.count + range.count
        guard total <= server.configuration.limits.body else {
            session.creditConnection(range.count)
            return refuse(stream, .bodyTooLarge)
        }
        // RFC 9113 §8.1.1.
        guard total <= stream.expected ?? .max else {
            session.creditConnection(range.count)
            return malformed(id, "more content than announced")
        }
        guard append(input[range], to: stream) else {
            session.creditConnection(range.count)
            return refuse(stream, status: .serviceUnavailable, reason: ServerConnection.noRoom)
        }
        stream.held += range.count
        // The content is bounded by its limit, and the connection's window bounds all.
        if server.configuration.limits.body >= limits.streamWindow { session.creditStream(id, range.count) }
    }

    private func append(_ content: ArraySlice<UInt8>, to stream: HTTP2Stream) -> Bool {
        let before = stream.body.capacity
        if before == 0 {
            let expected = stream.expected ?? Self.reservedContent
            stream.body.reserveCapacity(max(content.count, min(expected, Self.reservedContent)))
        }
        stream.body.append(contentsOf: content)
        let more = stream.body.capacity - before
        guard account.keep(more) else { return false }
        stream.kept += more
        return true
    }

    func acceptTrailers(_ id: Int32, ends: Bool, _ group: inout DiscardingTaskGroup) {
        guard let stream = streams[id], stream.request != nil else { return }
        do {
            try session.assembler.finish()
        } catch {
            switch error {
            case .malformed(let reason): return malformed(id, reason)
            case .refused(let error): return refuse(stream, error)
            }
        }
        // RFC 9113 §8.1: trailers end the request.
        guard ends else { return malformed(id, "trailer section that does not end the request") }
        let trailers = session.assembler.trailers
        let size = MemoryAccount.size(ofHead: session.assembler.trailerBytes, fields: trailers.count)
        guard account.keep(size) else {
            return refuse(stream, status: .serviceUnavailable, reason: ServerConnection.noRoom)
        }
        stream.kept += size
        stream.request?.trailers = trailers
        finishRequest(stream, &group)
    }

    func finishRequest(_ stream: HTTP2Stream, _ group: inout DiscardingTaskGroup) {
        guard !stream.isAnswered, stream.request != nil else { return }
        guard stream.expected == nil || stream.expected == stream.body.count else {
            return malformed(stream.id, "less content than announced")
        }
        start(stream, &group)
    }

    func start(_ stream: HTTP2Stream, _ group: inout DiscardingTaskGroup) {
        guard var request = stream.request else { return }
        stream.request = nil
        stream.deadline = .never
        stream.isAnswered = true
        running += 1
        swap(&request.body, &stream.body)
        stream.departure = request.noticeDeparture()
        let answer = HTTP2Answer(stream, HandedContent(request))
        group.addTask { [self] in await respond(answer) }
    }
}
