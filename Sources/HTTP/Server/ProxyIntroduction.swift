internal import Coding
internal import Logging
internal import Sockets

/// The PROXY protocol at the beginning of a connection (`HTTPServerConfiguration.proxyProtocol`).
///
/// Every connection must then come from a trusted proxy and begin with its header. Others are closed unread, because
/// otherwise any client could claim any address. The named address becomes the peer for every purpose: limits, logs,
/// and whether its `X-Forwarded-*` are trusted (docs/operate/limits.md#hostile-clients).
extension HTTPLoop {
    /// - Returns: false when the connection was refused and closed.
    func introduce(_ stream: SocketStream) async -> Bool {
        guard configuration.trustedProxies.contains(stream.socketPeer.ip) else {
            refuse(stream, "it is not from one of server.trustedProxies")
            return false
        }
        // A connection may have waited for its first byte without a task: its time runs from the accept.
        stream.setDeadline(min(stream.deadline, loop.now.adding(milliseconds: configuration.timeouts.header)))
        stream.waitsForHead = true
        defer { stream.waitsForHead = false }
        do {
            try await stream.readProxyHeader()
            return true
        } catch {
            switch error {
            case .header(let error): refuse(stream, error.rawValue)
            case .stream(.deadline): refuse(stream, "its PROXY header did not come in time")
            case .ended(afterBytes: true): refuse(stream, "it ended within its PROXY header")
            case .tooManyConnections:
                logger.debug("connection refused", metadata: ["reason": "too many from the address a proxy named"])
                stream.close()
            case .ended(afterBytes: false), .stream: stream.close()
            }
            return false
        }
    }

    /// A connection without its header means that the proxy or `server.trustedProxies` is misconfigured, or that
    /// somebody bypasses the proxy: logged for the operator, but a stranger cannot flood the log.
    private func refuse(_ stream: SocketStream, _ reason: String) {
        let level: Logger.Level = proxyWarnings.count(at: loop.now.nanoseconds / 1_000_000) == nil ? .debug : .warning
        logger.log(
            level: level, "connection refused by server.proxyProtocol",
            metadata: ["peer": "\(stream.socketPeer.ip)", "reason": "\(reason)"])
        stream.close()
    }
}
