internal import Instruments
internal import Logging
internal import Sockets

/// The PROXY protocol before everything else of a connection (`HTTPServerConfiguration.proxyProtocol`).
///
/// Every connection must then come from a trusted proxy and begin with its header: one from anybody else is closed
/// unread, or any client could say who it is. What the header names becomes the peer, for all that is asked of a peer:
/// limits, logs, and whether its `X-Forwarded-*` are believed (docs/decisions/0033-hostile-clients.md).
extension HTTPLoop {
    /// - Returns: false when the connection was refused, and is closed.
    func introduce(_ stream: SocketStream) async -> Bool {
        guard configuration.trustedProxies.contains(stream.socketPeer.ip) else {
            refuse(stream, "it is not from one of server.trustedProxies")
            return false
        }
        // Of a connection that waited for its first byte without a task, the time runs from the accept.
        stream.setDeadline(min(stream.deadline, loop.now.adding(milliseconds: configuration.timeouts.header)))
        stream.waitsForHead = true
        defer { stream.waitsForHead = false }
        do throws(ProxyHeaderFailure) {
            try await stream.readProxyHeader()
            return true
        } catch {
            switch error {
            case .header(let error): refuse(stream, error.reason)
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

    /// A connection without its header means that the proxy or `server.trustedProxies` is set up wrongly, or that
    /// somebody goes past the proxy: told to the operator, but not as often as a stranger likes.
    private func refuse(_ stream: SocketStream, _ reason: String) {
        let level: Logger.Level = proxyWarnings.count(at: loop.now.nanoseconds / 1_000_000) == nil ? .debug : .warning
        logger.log(
            level: level, "connection refused by server.proxyProtocol",
            metadata: ["peer": "\(stream.socketPeer.ip)", "reason": "\(reason)"])
        stream.close()
    }
}
