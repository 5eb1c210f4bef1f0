/// A look at what a TLS server shows: for diagnosis, of this machine's own listener above all.
///
/// Whatever is shown is told, believed or not. That is no way around verification: the connection is closed here, and
/// nothing is ever sent over it.
package enum TLSProbe {
    /// The server's own certificate, as ASN.1 has it. On the loop.
    /// - Throws: when nobody is there, or the handshake fails.
    package static func certificate(
        at address: SocketAddress, serverName: String, on loop: EventLoop, deadline: Deadline
    ) async throws(StreamError) -> [UInt8] {
        let context = try TLSContext.looking()
        let stream = try await SocketStream.connect(to: [address], on: loop, deadline: deadline)
        defer { stream.close() }
        stream.setDeadline(deadline)
        try await stream.startTLS(context, serverName: serverName)
        guard let certificate = stream.peerCertificate else { throw .tls("no certificate was shown") }
        return certificate
    }
}
