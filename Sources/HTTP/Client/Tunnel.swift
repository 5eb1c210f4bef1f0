internal import HTTPTypes
internal import Sockets

/// Tunnels through a proxy (CONNECT, RFC 9110 §9.3.6). TLS inside verifies the server's name as on a direct connection:
/// a proxy can refuse or cut the connection, but not read it.
extension HTTPClient {
    /// - Returns: a connection to the server on which nothing has been received.
    /// - Throws: `.proxy`.
    func openTunnel(
        to url: ClientURL, through proxy: ProxyServer, on loop: EventLoop, deadline: Deadline
    ) async throws(HTTPClientError) -> SocketStream {
        do throws(HTTPClientError) {
            let stream = try await connect(to: proxy.host, port: proxy.port, on: loop, deadline: deadline)
            do {
                try await askForTunnel(to: url, proxy, over: stream)
                return stream
            } catch {
                stream.close()
                throw error
            }
        } catch {
            throw .proxy(TunnelFailure(error))
        }
    }

    private func askForTunnel(
        to url: ClientURL, _ proxy: ProxyServer, over stream: SocketStream
    ) async throws(HTTPClientError) {
        guard var head = connectHead(url, proxy) else { throw .malformed("the host is empty or invalid") }
        defer { head.wipe() }
        if let error = await write(head, to: stream) { throw Self.failure(error) }
        // Read like the answer to HEAD: a tunnel's answer has no content, and a refusal's is not read.
        var reader = ResponseReader(stream, isHead: true, limits: WireLimits())
        defer { reader.end() }
        let status = try await reader.readHead().status.code
        guard (200...299).contains(status) else { throw .proxy(.refused(status)) }
        guard reader.isAtEnd else { throw .proxy(.earlyBytes) }
    }

    /// Nil when the host cannot be written.
    private func connectHead(_ url: ClientURL, _ proxy: ProxyServer) -> [UInt8]? {
        // RFC 9112 §3.2.3: authority-form, always with the port; the same in `Host`.
        let authority = (url.host.contains(":") ? "[\(url.host)]" : url.host) + ":\(url.port)"
        let bytes = Array(authority.utf8)
        guard HostSyntax.isValid(bytes.span, 0..<bytes.count) else { return nil }
        var text = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\nUser-Agent: \(userAgent)\r\n"
        if let credentials = proxy.credentials { text += "Proxy-Authorization: \(credentials.field)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}

extension TunnelFailure {
    /// What failed between us and the proxy.
    fileprivate init(_ error: HTTPClientError) {
        self =
            switch error {
            case .unknownHost(let name): .unknownHost(name)
            case .connect(let cause): .connect(cause)
            case .timeout: .timeout
            case .closed, .tls: .closed
            case .malformed(let cause): .malformed(cause)
            case .tooLarge: .tooLarge
            case .proxy(let failure): failure
            case .inside: .connect(error.description)
            }
    }
}
