internal import HTTPTypes
internal import Logging
internal import Sockets

/// One HTTP/1.1 connection, from its first byte until it ends or is parked: read → parse → respond → write, in one task
/// that never leaves its loop.
///
/// Pipelined requests are answered in order into one output buffer, written when no complete request is left.
final class ServerConnection {
    /// What happens to the socket when `serveRequests` returns.
    enum Ending {
        /// Idle: the loop keeps it until bytes arrive or the deadline passes.
        case park(until: Deadline)
        /// Nothing more to send; the peer has closed or is gone.
        case close
        /// The peer's time is up.
        case abandon
        /// We end it while the peer may still be sending.
        case linger
    }

    /// After this many requests other connections get their turn, …
    private static let requestsPerTurn = 16
    /// … and after this many bytes of answers they are sent, so that no more wait for a peer that does not read.
    private static let outputPerTurn = 16_384

    let stream: SocketStream
    let server: HTTPLoop
    var input: InputBuffer
    var output: [UInt8]
    /// Part of an output was sent and the rest never will be: nothing may follow it.
    private var hasFailedToSend = false
    private var parser: RequestParser
    private var headDeadline = Deadline.never
    /// Counts memory beyond a head of the usual size, once there is some.
    private lazy var account = server.makeAccount(of: stream)
    /// Of that, the part for a head that does not fit into a buffer of the usual size.
    private var keptInput = 0
    /// The stream's turn in which `requests` were answered.
    private var turn = 0
    private var requestsOfTurn = 0

    init(_ stream: SocketStream, on server: HTTPLoop) {
        self.stream = stream
        self.server = server
        input = InputBuffer(stream.loop.buffers.acquire())
        output = stream.loop.buffers.acquireOutput()
        parser = RequestParser(limits: server.configuration.limits)
    }

    private var timeouts: ServerTimeouts { server.configuration.timeouts }

    func run() async {
        let ending: Ending
        do {
            ending = try await serveRequests()
        } catch {
            ending = error == .deadline ? .abandon : .close
        }
        releaseBuffers()
        switch ending {
        case .park(let deadline):
            stream.isReused = true
            stream.setDeadline(deadline)
            stream.park()
        case .close: stream.close()
        case .abandon: stream.abandon()
        case .linger: await server.linger(stream)
        }
    }

    /// A connection that waits for its next request holds no buffers: ten thousand of them share a few.
    private func releaseBuffers() {
        stream.loop.buffers.release(input.release())
        if keptInput > 0 {
            account.release(keptInput)
            keptInput = 0
        }
        // Exchanged, not copied: with a second reference the pool would have to allocate another.
        var taken: [UInt8] = []
        swap(&taken, &output)
        stream.loop.buffers.releaseOutput(taken)
    }

    private func deadline(after milliseconds: Int64) -> Deadline {
        stream.loop.now.adding(milliseconds: milliseconds)
    }

    // MARK: Requests

    private func serveRequests() async throws(StreamError) -> Ending {
        while true {
            let headLength: Int?
            do {
                headLength = try parser.parse(input.storage.span.extracting(input.range))
            } catch {
                return try await refuse(error)
            }
            guard let headLength else {
                try await flush()
                if let ending = try await readHeadBytes() { return ending }
                guard countInput() else { return try await refuse(status: .serviceUnavailable, reason: Self.noRoom) }
                continue
            }
            guard try await answer(headLength: headLength) else {
                try await flush()
                return .linger
            }
            parser.reset()
            headDeadline = .never
            stream.isReused = true
            if turn != stream.turn {
                turn = stream.turn
                requestsOfTurn = 0
            }
            requestsOfTurn += 1
            if requestsOfTurn >= Self.requestsPerTurn || output.count >= Self.outputPerTurn {
                try await flush()
                await stream.endTurn()
            }
        }
    }

    /// Answers the request whose head is parsed; false when the connection ends with it.
    private func answer(headLength: Int) async throws(StreamError) -> Bool {
        if parser.head.isForHTTPS, !mayAnswerForHTTPS {
            _ = try await refuse(status: .misdirectedRequest, reason: "https where there is no TLS")
            return false
        }
        let mayStay = parser.head.keepAlive && !stream.loop.isEnding
        if mayStay, parser.head.framing == .none, parser.head.minorVersion == 1, !stream.isAnonymous,
            let immediate = server.immediate
        {
            let (now, date) = server.currentTime()
            let isAnswered = immediate.respond(
                to: parser.head, in: input.storage.span.extracting(input.range), peer: stream.peer.ip, now: now,
                date: date, into: &output)
            if isAnswered {
                input.consume(headLength)
                return true
            }
        }
        var request = server.makeRequest(parser.head, in: input.storage, input.range, from: stream)
        let framing = parser.head.framing
        // Until the handler has answered, however long the peer takes to read that.
        var kept = 0
        defer { if kept > 0 { account.release(kept) } }
        let version = parser.head.minorVersion
        let expectsContinue = parser.head.expectsContinue
        input.consume(headLength)
        if framing != .none {
            let size = MemoryAccount.size(ofHead: headLength, fields: parser.head.fields.count)
            do throws(BodyFailure) {
                guard account.keep(size) else { throw .noRoom }
                kept = size
                (request.body, request.trailers) = try await readBody(
                    framing, expectsContinue: expectsContinue, counting: &kept)
            } catch {
                switch error {
                case .wire(let error): _ = try await refuse(error)
                case .late: _ = try await refuse(status: .requestTimeout, reason: "the content came too slowly")
                case .noRoom: _ = try await refuse(status: .serviceUnavailable, reason: Self.noRoom)
                case .stream(let error): throw error
                }
                return false
            }
        }
        // In a child task, whose memory is freed when it ends: a task keeps the stack of its deepest call for as long
        // as it lives, and this one may wait for an hour. (Ten thousand of them: 100 MB or 30.)
        let handler = server.handler
        let isHead = request.method == .head
        let response: ServerResponse
        if request.body.isEmpty {
            if let departure = request.noticeDeparture() {
                stream.onHangUp = { departure.leave() }
                if stream.peerHasClosed { departure.leave() }
            }
            defer { stream.onHangUp = nil }
            let whole = request
            async let answer = handler.respond(to: whole)
            response = await answer
        } else {
            let handed = HandedContent(request)
            request.body = []
            async let answer = handed.answer(by: handler)
            response = await answer
        }
        if kept > 0 {
            account.release(kept)
            kept = 0
        }
        let stays = mayStay && !stream.loop.isEnding
        return try await send(response, isHead: isHead, version: version, mayStay: stays)
    }

    /// RFC 9110 §7.4: requests for `https` are answered only where TLS ends, here or at a trusted proxy.
    private var mayAnswerForHTTPS: Bool {
        stream.isSecure || server.configuration.trustedProxies.contains(stream.socketPeer.ip.normalized)
    }

    // MARK: Reading

    /// Reads more of a head; returns an ending when there is nothing more to read.
    private func readHeadBytes() async throws(StreamError) -> Ending? {
        let isBetweenRequests = input.isEmpty
        stream.waitsForHead = true
        defer { stream.waitsForHead = false }
        do {
            if isBetweenRequests {
                let first = firstHeadDeadline
                if let ending = try await waitForRequest() { return ending }
                headDeadline = first ?? deadline(after: timeouts.header)
                // A new connection appears readable before anything has arrived: until a byte has, it is idle.
                stream.isIdle = true
            } else if headDeadline == .never {
                headDeadline = deadline(after: timeouts.header)
            }
            stream.setDeadline(headDeadline)
            defer { stream.isIdle = false }
            let count = try await input.fill(from: stream)
            return count == 0 ? .close : nil
        } catch {
            if case .deadline = error, !isBetweenRequests {
                return try await refuse(status: .requestTimeout, reason: "the head came too slowly")
            }
            throw error
        }
    }

    /// False when there is no room for a head larger than a buffer of the usual size.
    private func countInput() -> Bool {
        let beyond = input.storage.count - BufferPool.size
        guard beyond > keptInput else { return true }
        guard account.keep(beyond, insteadOf: keptInput) else { return false }
        keptInput = beyond
        return true
    }

    static let noRoom = "too many incomplete requests"

    /// For a connection that waited without a task for its first byte: the head's time runs from the accept.
    private var firstHeadDeadline: Deadline? {
        stream.isReused || stream.isSecure || stream.deadline == .never ? nil : stream.deadline
    }

    private func waitForRequest() async throws(StreamError) -> Ending? {
        guard !stream.isReadable else { return nil }
        let limit = deadline(after: stream.isReused ? timeouts.idle : timeouts.header)
        // A task costs more memory than the rest of a connection, and the allocator keeps what a crowd of them leaves.
        if server.waitingTasks >= server.configuration.waitingTasks, stream.mayPark { return .park(until: limit) }
        server.waitingTasks += 1
        defer { server.waitingTasks -= 1 }
        let parkAt = min(limit, deadline(after: timeouts.parkAfter))
        stream.isIdle = true
        defer { stream.isIdle = false }
        stream.setDeadline(parkAt)
        releaseBuffers()
        defer {
            input = InputBuffer(stream.loop.buffers.acquire())
            output = stream.loop.buffers.acquireOutput()
        }
        do {
            try await stream.waitUntilReadable()
            return nil
        } catch {
            guard case .deadline = error, parkAt < limit else { throw error }
            return .park(until: limit)
        }
    }

    private enum BodyFailure: Error {
        case wire(WireError)
        case late
        case noRoom
        case stream(StreamError)
    }

    /// Bytes reserved for announced content before it arrives.
    private static var reservedContent: Int { 8192 }

    private func readBody(
        _ framing: BodyFraming, expectsContinue: Bool, counting kept: inout Int
    ) async throws(BodyFailure) -> (content: [UInt8], trailers: HTTPFields) {
        let limits = server.configuration.limits
        // RFC 9110 §10.1.1: refuse it by its length before the client has sent it.
        if case .length(let count) = framing, count > limits.body { throw .wire(.bodyTooLarge) }
        var decoder = BodyDecoder(framing: framing, limits: limits)
        let head = kept
        var body: [UInt8] = []
        // Short content is never copied by growing: a copy left behind may hold a token.
        if case .length(let count) = framing {
            body.reserveCapacity(min(count, Self.reservedContent))
        } else {
            body.reserveCapacity(Self.reservedContent)
        }
        if expectsContinue && input.isEmpty { ResponseSerializer.appendContinue(into: &output) }
        let until = deadline(after: timeouts.body)
        while true {
            do {
                try input.decode(with: &decoder, into: &body)
            } catch {
                throw .wire(error)
            }
            let size = head + body.capacity + decoder.trailerSection.capacity
            guard account.keep(size, insteadOf: kept) else { throw .noRoom }
            kept = size
            if decoder.isComplete {
                guard !decoder.trailerSection.isEmpty else { return (body, HTTPFields()) }
                let trailers = decoder.makeTrailers()
                let more = MemoryAccount.size(ofHead: decoder.trailerSection.count, fields: trailers.count)
                guard account.keep(head + body.capacity + more, insteadOf: kept) else { throw .noRoom }
                kept = head + body.capacity + more
                return (body, trailers)
            }
            try await fillBody(until: until)
        }
    }

    private func fillBody(until deadline: Deadline) async throws(BodyFailure) {
        do {
            try await flush()
        } catch {
            // Nobody reads, so nobody can be told.
            throw .stream(error)
        }
        do throws(StreamError) {
            stream.setDeadline(deadline)
            guard try await input.fill(from: stream) > 0 else { throw .aborted }
        } catch {
            if case .deadline = error { throw .late }
            throw .stream(error)
        }
    }

    // MARK: Writing

    func flush() async throws(StreamError) { try await flush(within: timeouts.write) }

    /// - Parameter milliseconds: for all of it, however slowly it drains.
    private func flush(within milliseconds: Int64) async throws(StreamError) {
        guard !output.isEmpty else { return }
        // Whatever happens, nothing is sent twice.
        defer { output.removeAll(keepingCapacity: output.capacity <= 65_536) }
        guard !hasFailedToSend else { throw .aborted }
        hasFailedToSend = true
        stream.setDeadline(deadline(after: milliseconds))
        let sent = try stream.tryWriting(output)
        if sent < output.count {
            // Without room for its unread answers, a client gets no time to read them.
            let size = output.capacity
            guard account.keep(size) else { throw .deadline }
            defer { account.release(size) }
            try await stream.write(output, from: sent)
        }
        hasFailedToSend = false
    }

    /// Appends (and for a stream, sends) a response; false when the connection ends with it.
    private func send(
        _ response: ServerResponse, isHead: Bool, version: UInt8, mayStay: Bool
    ) async throws(StreamError) -> Bool {
        let hasNoContent = response.hasNoContent
        var stays = mayStay
        switch response.body {
        case .none, .bytes:
            var bytes: [UInt8] = []
            if case .bytes(let given) = response.body { bytes = given }
            appendHead(response, framing: hasNoContent ? .none : .length(bytes.count), version, stays)
            if !isHead && !hasNoContent { output.append(contentsOf: bytes) }
        case .stream(let produce):
            let framing: ResponseFraming = hasNoContent ? .none : version == 0 ? .untilClose : .chunked
            if framing == .untilClose { stays = false }
            appendHead(response, framing: framing, version, stays)
            if !isHead && !hasNoContent { try await stream(produce, isChunked: framing == .chunked) }
        }
        return stays
    }

    private func stream(
        _ produce: @Sendable (BodyWriter) async throws -> Void, isChunked: Bool
    ) async throws(StreamError) {
        try await flush()
        var patience = WritePatience(timeouts.write)
        // Each chunk is passed to the kernel before the next.
        let writer = BodyWriter { [self] bytes in
            if isChunked {
                ResponseSerializer.appendChunk(bytes, into: &output)
            } else {
                output.append(contentsOf: bytes)
            }
            let start = stream.loop.now
            try await flush(within: patience.left)
            patience.record(bytes: bytes.count, waited: (stream.loop.now.nanoseconds - start.nanoseconds) / 1_000_000)
            // A peer that takes everything at once does not make others wait for all of it.
            await stream.endTurn()
        }
        do {
            try await produce(writer)
        } catch {
            // Cut off: without the last chunk the peer sees that the content is incomplete.
            server.logger.debug("response stream failed", metadata: ["error": "\(error)"])
            // A peer that has not taken it in time gets no more of it: what waits in the kernel is discarded.
            throw error as? StreamError == .deadline ? .deadline : .aborted
        }
        if isChunked { ResponseSerializer.appendLastChunk(into: &output) }
        try await flush()
    }

    private func appendHead(_ response: ServerResponse, framing: ResponseFraming, _ version: UInt8, _ stays: Bool) {
        let refused = ResponseSerializer.appendHead(
            status: response.status, fields: response.fields, framing: framing, date: server.currentTime().date,
            connection: !stays ? "close" : version == 0 ? "keep-alive" : nil, into: &output)
        if refused > 0 {
            server.logger.error(
                "response fields with line breaks dropped", metadata: ["count": .stringConvertible(refused)])
        }
    }

    // MARK: Refusing

    private func refuse(_ error: WireError) async throws(StreamError) -> Ending {
        try await refuse(status: .refusing(error), reason: error.reason)
    }

    /// Answers an invalid request and ends the connection: its framing can no longer be trusted.
    private func refuse(status: HTTPResponse.Status, reason: String) async throws(StreamError) -> Ending {
        server.logger.debug(
            "request refused", metadata: ["status": .stringConvertible(status.code), "reason": "\(reason)"])
        server.metrics?.countRefusal(status)
        let response = server.configuration.refusal(status)
        // RFC 9110 §9.3.2: no content for a HEAD, once its request line has been read.
        _ = try await send(response, isHead: parser.head.method == .head, version: 1, mayStay: false)
        try await flush()
        return .linger
    }
}

extension HTTPResponse.Status {
    /// The status of a refusal, with its reason phrase.
    static func refusing(_ error: WireError) -> HTTPResponse.Status {
        switch error.status {
        case 413: .contentTooLarge
        case 414: .uriTooLong
        case 417: .expectationFailed
        case 431: .requestHeaderFieldsTooLarge
        case 501: .notImplemented
        case 505: HTTPResponse.Status(code: 505, reasonPhrase: "HTTP Version Not Supported")
        default: .badRequest
        }
    }
}
