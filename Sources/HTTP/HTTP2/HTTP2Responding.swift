internal import HTTPTypes
internal import Logging
internal import Sockets
internal import Synchronization

/// A request on its way to its handler's task, with its stream.
///
/// Proof for `@unchecked Sendable`: see `HTTP2Connection`, which makes it and takes it apart on the same loop.
final class HTTP2Answer: @unchecked Sendable {
    let stream: HTTP2Stream
    /// The handler takes the request out of it: no head lives longer than the account counts it.
    let request: HandedContent

    init(_ stream: HTTP2Stream, _ request: HandedContent) {
        self.stream = stream
        self.request = request
    }
}

extension HTTP2Connection {
    /// Calls the handler and sends its answer, in a task of its own.
    func respond(_ answer: HTTP2Answer) async {
        let stream = answer.stream
        let response = await answer.request.answer(by: server.handler)
        running -= 1
        release(stream)
        releaseWindow(of: stream)
        if !stream.isClosed { await send(response, on: stream) }
        await flush()
    }

    private func send(_ response: ServerResponse, on stream: HTTP2Stream) async {
        let hasNoContent = response.hasNoContent
        switch response.body {
        case .none, .bytes:
            var bytes: [UInt8] = []
            if case .bytes(let given) = response.body { bytes = given }
            makeList(response.status, response.fields, length: hasNoContent ? nil : bytes.count)
            let content =
                hasNoContent || stream.isHead || bytes.isEmpty ? nil : OutgoingContent(bytes, isFinished: true)
            begin(stream, content)
        case .stream(let produce):
            makeList(response.status, response.fields, length: nil)
            guard !hasNoContent, !stream.isHead else { return begin(stream, nil) }
            begin(stream, OutgoingContent())
            await self.stream(produce, on: stream)
        }
    }

    /// - Parameter isRefusal: an answer that costs the peer nothing to cause; without room for it the stream is reset.
    private func begin(_ stream: HTTP2Stream, _ content: OutgoingContent?, isRefusal: Bool = false) {
        stream.content = content
        stream.keptFields = 512 + workspace.list.bytes.count
        guard countAnswer(of: stream, isForced: !isRefusal) else {
            stream.content = nil
            return session.reset(stream.id, .refusedStream)
        }
        session.respond(to: stream.id, workspace.list, content: content)
        expectProgress(of: stream)
    }

    /// Counts a handler's response. It is not refused; the next request finds less room.
    /// - Returns: false when there is no room for it.
    @discardableResult
    private func countAnswer(of stream: HTTP2Stream, isForced: Bool = true) -> Bool {
        guard !stream.isClosed else { return true }
        let size = stream.keptFields + (stream.content?.pending ?? 0)
        guard account.keep(size, insteadOf: stream.keptAnswer, isForced: isForced) else { return false }
        stream.keptAnswer = size
        return true
    }

    /// All streams of a connection together must progress as one connection of HTTP/1.1 must: a client that requests a
    /// hundred things at once over a slow line gets them.
    func expectProgress(of stream: HTTP2Stream) {
        let share = limits.pendingContent / max(1, streams.count)
        stream.expectProgress(batch: share, until: deadline(after: timeouts.write))
        update(stream.deadline)
    }

    private func stream(_ produce: @Sendable (BodyWriter) async throws -> Void, on stream: HTTP2Stream) async {
        do {
            try await produce(BodyWriter { [self] bytes in try await write(bytes, on: stream) })
        } catch {
            server.logger.debug("response stream failed", metadata: ["error": "\(error)"])
            // Cut off, so that the peer sees that the content is incomplete.
            if !stream.isClosed { session.reset(stream.id, .internalError) }
            return
        }
        stream.content?.finish()
        session.resume(stream.id)
    }

    /// Appends a chunk and waits until the session has room for the next.
    private func write(_ bytes: [UInt8], on stream: HTTP2Stream) async throws(StreamError) {
        guard !stream.isClosed, let content = stream.content else { throw .aborted }
        guard !bytes.isEmpty else { return }
        let wasEmpty = content.pending == 0
        content.append(bytes)
        countAnswer(of: stream)
        session.resume(stream.id)
        if wasEmpty { expectProgress(of: stream) }
        await flush()
        // While a writer waits for the socket, this only gives others their turn.
        if content.pending > 0, !peerHasEnded || isWriting { await stream.waitUntilDrained() }
        if stream.isClosed || content.pending > 0 { throw .aborted }
        // As on HTTP/1.1: others have their turn after each part.
        await self.stream.endTurn()
    }

    // MARK: Fields

    private func makeList(_ status: HTTPResponse.Status, _ fields: HTTPFields, length: Int?) {
        workspace.list.removeAll()
        workspace.list.append(":status", String(status.code))
        workspace.list.append("date", server.currentTime().date)
        workspace.list.append(fields)
        if let length { workspace.list.append("content-length", String(length)) }
        if workspace.list.refused > 0 {
            server.logger.error(
                "response fields with line breaks dropped",
                metadata: ["count": .stringConvertible(workspace.list.refused)])
        }
    }

    /// RFC 9110 §10.1.1.
    func sendContinue(_ id: Int32) {
        workspace.list.removeAll()
        workspace.list.append(":status", "100")
        session.inform(id, workspace.list)
    }

    // MARK: Refusing

    /// RFC 9113 §8.1.1.
    func malformed(_ id: Int32, _ reason: String) {
        server.logger.debug("malformed request", metadata: ["reason": "\(reason)"])
        session.resetFaulty(id, .protocolError)
    }

    /// Refuses a request that has no stream yet. It gets one, since its answer may have to wait for the peer too.
    func refuse(_ id: Int32, _ error: WireError) {
        let stream = HTTP2Stream(id: id, request: nil, isHead: session.assembler.isHead)
        streams[id] = stream
        refuse(stream, error)
    }

    func refuse(_ stream: HTTP2Stream, _ error: WireError) {
        refuse(stream, status: .refusing(error), reason: error.reason)
    }

    /// Answers what no handler sees. The rest of the request is no longer wanted.
    func refuse(_ stream: HTTP2Stream, status: HTTPResponse.Status, reason: String) {
        stream.request = nil
        stream.isAnswered = true
        release(stream)
        releaseWindow(of: stream)
        server.logger.debug(
            "request refused", metadata: ["status": .stringConvertible(status.code), "reason": "\(reason)"])
        server.metrics?.countRefusal(status)
        let response = server.configuration.refusal(status)
        var content: [UInt8] = []
        if case .bytes(let bytes) = response.body { content = bytes }
        makeList(status, response.fields, length: content.count)
        // RFC 9110 §9.3.2.
        begin(stream, stream.isHead ? nil : OutgoingContent(content, isFinished: true), isRefusal: true)
    }
}
