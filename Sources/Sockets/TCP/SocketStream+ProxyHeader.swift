/// Why a connection has no address from the PROXY protocol.
package enum ProxyHeaderFailure: Error, Hashable, Sendable {
    case header(ProxyHeaderError)
    /// The stream ended before the header did; whether anything had arrived. Health checks that only connect end with
    /// nothing.
    case ended(afterBytes: Bool)
    case stream(StreamError)
    /// The named address has reached its limit of connections.
    case tooManyConnections
}

extension SocketStream {
    /// Reads exactly the PROXY header, and sets `peer` to the address it names. Within the stream's deadline; the
    /// caller closes after a failure.
    ///
    /// Input is peeked in the socket (MSG_PEEK) until the header is complete, and only the header is consumed: OpenSSL
    /// or the HTTP parser finds the rest where it expects it.
    package func readProxyHeader() async throws(ProxyHeaderFailure) {
        var scratch = loop.buffers.acquire()
        let outcome = await peekProxyHeader(&scratch)
        loop.buffers.release(scratch)
        let (header, length) = try outcome.get()
        do throws(StreamError) {
            var taken = [UInt8](repeating: 0, count: length)
            var count = 0
            while count < length {
                if let more = try tryReading(into: &taken, at: count) {
                    guard more > 0 else { throw .aborted }
                    count += more
                } else {
                    try await waitUntilReadable()
                }
            }
        } catch {
            throw .stream(error)
        }
        guard introduce(header.source) else { throw .tooManyConnections }
    }

    private func peekProxyHeader(
        _ scratch: inout [UInt8]
    ) async -> Result<(header: ProxyHeader, length: Int), ProxyHeaderFailure> {
        // Until a byte has arrived, draining may end the wait; `waitUntilReadable` ends that when one has.
        isIdle = true
        defer { isIdle = false }
        var seen = 0
        while true {
            do throws(StreamError) {
                // Read before peeking: what had arrived when the peer hung up is then included.
                let isLast = peerHasClosed
                if let count = try tryPeeking(into: &scratch) {
                    do throws(ProxyHeaderError) {
                        if let whole = try ProxyHeader.parse(scratch.span.extracting(0..<count)) {
                            return .success(whole)
                        }
                    } catch {
                        return .failure(.header(error))
                    }
                    seen = max(seen, count)
                    if count == 0 || isLast { return .failure(.ended(afterBytes: seen > 0)) }
                }
                markUnreadable()
                try await waitUntilReadable()
            } catch {
                return .failure(.stream(error))
            }
        }
    }
}
