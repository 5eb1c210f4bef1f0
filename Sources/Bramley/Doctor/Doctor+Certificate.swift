internal import Accounts
internal import Coding
internal import Crypto
internal import Sockets
internal import Web

/// Bramley's own certificate: whether this machine's listener serves the one in the files. Whether browsers trust it
/// shows on the way through publicURL.
extension Doctor {
    /// Nothing when a proxy has the certificate.
    func certificate() async -> [Diagnosis] {
        guard let tls = configuration.server.tls, let leaf = try? CertificateChain(pem: tls.certificate).leaf else {
            return []
        }
        let now = clock.now()
        let words =
            "\(leaf.names.joined(separator: ", ")), valid for \(CertificateJudgement.left(of: leaf, at: now)) more "
            + "(until \(Timestamp(seconds: leaf.notAfter).rfc3339))"
        guard !configuration.server.proxyProtocol else {
            return [
                .good(
                    .certificate,
                    "The files hold a certificate for \(words). The listener was not tested: it expects "
                        + "the PROXY protocol.")
            ]
        }
        let listener = configuration.server.listener
        let host = Self.ownAddress(of: listener)
        let place = "\(host):\(listener.port)"
        let shown: [UInt8]
        do throws(StreamError) {
            shown = try await fetch(at: SocketAddress(ip: host, port: listener.port))
        } catch {
            return [
                .wrong(
                    .certificateNotShown, "No TLS on server.host and server.port, \(place): \(error).",
                    next: "Start bramley serve, or restart it: it may have started without the certificate.")
            ]
        }
        guard shown == leaf.der else {
            let other = CertificateSummary(der: shown)
            let until =
                other.map {
                    " (for \($0.names.joined(separator: ", ")), until "
                        + "\(Timestamp(seconds: $0.notAfter).rfc3339))"
                } ?? ""
            return [
                .wrong(
                    .certificateStale,
                    "The listener on \(place) uses another certificate\(until) than the files, which hold one for \(words).",
                    next:
                        "If they were just renewed, run doctor again. Otherwise find \"certificate not reloaded\" in "
                        + "the server's log, which says why.")
            ]
        }
        return [.good(.certificate, "The listener on \(place) uses the certificate of the files, for \(words).")]
    }

    private func fetch(at address: SocketAddress) async throws(StreamError) -> [UInt8] {
        let result = await withTaskExecutorPreference(loop) { [loop, host = configuration.web.publicURL.host] in
            do throws(StreamError) {
                return Result<[UInt8], StreamError>.success(
                    try await TLSProbe.certificate(
                        at: address, serverName: host, on: loop,
                        deadline: Deadline.now.adding(milliseconds: 10_000)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
