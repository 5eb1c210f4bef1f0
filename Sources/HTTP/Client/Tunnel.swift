internal import Sockets

/// Tunnels through a proxy (CONNECT, RFC 9110 §9.3.6). TLS inside verifies the server's name as on a direct connection:
/// a proxy can refuse or cut the connection, but not read it.
extension HTTPClient {
    /// - Returns: a connection to the server on which nothing has been received.
    func openTunnel(
        to url: ClientURL, through proxy: ProxyServer, on loop: EventLoop, deadline: Deadline
    ) async throws(TunnelFailure) -> SocketStream {
        let stream: SocketStream
        do throws(HTTPClientError) {
            stream = try await connect(to: proxy.host, port: proxy.port, on: loop, deadline: deadline)
        } catch {
            switch error {
            case .unknownHost(let name): throw .unknownHost(name)
            case .timeout: throw .timeout
            default: throw .connect(error.cause)
            }
        }
        do throws(TunnelFailure) {
            try await askForTunnel(to: url, proxy, over: stream)
            return stream
        } catch {
            stream.close()
            throw error
        }
    }

    private func askForTunnel(
        to url: ClientURL, _ proxy: ProxyServer, over stream: SocketStream
    ) async throws(TunnelFailure) {
        guard var head = connectHead(url, proxy) else { throw .malformed("the host is none") }
        defer { head.wipe() }
        do throws(StreamError) {
            try await stream.write(head)
        } catch {
            throw Self.tunnelFailure(error)
        }
        var input = InputBuffer(stream.loop.buffers.acquire())
        defer { stream.loop.buffers.release(input.release()) }
        // Parsed like the answer to HEAD: whatever its fields say, a tunnel's answer has no content, and a refusal's
        // content is not read.
        var parser = ResponseParser(limits: WireLimits(), isHead: true)
        while true {
            do throws(WireError) {
                if let length = try parser.parse(input.storage.span.extracting(input.range)) {
                    input.consume(length)
                    break
                }
            } catch {
                throw error.status == 431 || error.status == 414 ? .tooLarge : .malformed(error.reason)
            }
            do throws(StreamError) {
                guard try await input.fill(from: stream) > 0 else { throw StreamError.aborted }
            } catch {
                throw Self.tunnelFailure(error)
            }
        }
        guard (200...299).contains(parser.head.status) else { throw .refused(parser.head.status) }
        guard input.isEmpty else { throw .earlyBytes }
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

    private static func tunnelFailure(_ error: StreamError) -> TunnelFailure {
        switch error {
        case .deadline: .timeout
        case .draining, .aborted, .broken, .tls: .closed
        }
    }
}

extension HTTPClientError {
    /// Without the surrounding words.
    fileprivate var cause: String {
        if case .connect(let cause) = self { cause } else { description }
    }
}
