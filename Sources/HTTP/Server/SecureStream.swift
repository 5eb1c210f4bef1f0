internal import HTTPTypes
internal import Logging
internal import Sockets

/// The TLS handshake that begins a connection when the listener has a certificate.
extension HTTPLoop {
    /// What OpenSSL holds for a handshake in progress, in bytes (measured with a usual hello).
    private static let handshakeSize = 33_792

    /// Whether the stream can now carry requests. Otherwise it has ended.
    ///
    /// Until the first byte the connection is idle and holds nothing but its task: neither a buffer nor an `SSL`. After
    /// that it is in flight, so draining lets the handshake end, by its own deadline at the latest.
    func secure(_ stream: SocketStream, with acceptor: TLSAcceptor) async -> Bool {
        // A connection may have waited for its first byte without a task: its time runs from the accept.
        stream.setDeadline(min(stream.deadline, loop.now.adding(milliseconds: configuration.timeouts.handshake)))
        stream.waitsForHead = true
        defer { stream.waitsForHead = false }
        do {
            let head = try await readFirstBytes(stream)
            guard let first = head.first else {
                stream.close()
                return false
            }
            // RFC 8446 §5.1: a handshake record begins with 22. A method begins with a letter.
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
                acceptor.count(.failed, nil)
                await refusePlain(stream)
                return false
            }
            // Counted, not refused: otherwise a few addresses with endless handshakes would lock everybody out.
            let account = makeAccount(of: stream)
            account.keep(Self.handshakeSize, insteadOf: 0, isForced: true)
            defer { account.release(Self.handshakeSize) }
            try await stream.startTLS(acceptor.context, serverName: nil, head: head)
            acceptor.count(stream.isResumed ? .resumed : .full, stream.tlsVersion)
            return true
        } catch {
            acceptor.count(.failed, nil)
            logger.debug("handshake failed", metadata: ["reason": "\(error)"])
            if case .tls = error {
                // OpenSSL has sent an alert; a reset in answer to further input would destroy it.
                await linger(stream)
            } else {
                stream.close()
            }
            return false
        }
    }

    private func readFirstBytes(_ stream: SocketStream) async throws(StreamError) -> ArraySlice<UInt8> {
        stream.isIdle = true
        defer { stream.isIdle = false }
        while true {
            if let head = try firstBytes(stream) { return head }
            try await stream.waitUntilReadable()
        }
    }

    private func firstBytes(_ stream: SocketStream) throws(StreamError) -> ArraySlice<UInt8>? {
        var buffer = loop.buffers.acquire()
        defer { loop.buffers.release(buffer) }
        guard let count = try stream.tryReading(into: &buffer, at: 0) else { return nil }
        return Array(buffer.prefix(count))[...]
    }

    /// The client speaks plain HTTP, and would understand no other answer. The request is not read.
    private func refusePlain(_ stream: SocketStream) async {
        logger.debug("handshake failed", metadata: ["reason": "plain HTTP"])
        var fields = configuration.refusalFields
        // RFC 6797 §7.2: not on plain HTTP.
        fields[.strictTransportSecurity] = nil
        fields[.contentType] = "text/plain; charset=utf-8"
        let text = Array("400 Bad Request: this port speaks https\n".utf8)
        var output = loop.buffers.acquireOutput()
        _ = ResponseSerializer.appendHead(
            status: .badRequest, fields: fields, framing: .length(text.count), date: currentTime().date,
            connection: "close", into: &output)
        output += text
        try? await stream.write(output)
        loop.buffers.releaseOutput(output)
        await linger(stream)
    }
}
