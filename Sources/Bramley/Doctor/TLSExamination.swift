internal import HTTP
internal import Web

/// Why publicURL could not be reached over TLS.
struct TLSExamination {
    let url: PublicURL
    /// Whether Bramley has its own certificate; otherwise a proxy must have it.
    let holdsCertificate: Bool

    private var port: UInt16 { ClientURL(url.absolute)?.port ?? 443 }

    func diagnosis(of error: HTTPClientError) -> Diagnosis {
        switch error {
        case .tls(let cause):
            let (finding, what, next) = verdict(cause)
            return .wrong(finding, "\(what) (\(cause)).", next: next)
        case .malformed, .tooLarge:
            return .wrong(
                .publicURLElsewhere, "Something answers at \(url.absolute), but not this Bramley: \(error.words).",
                next:
                    "Look what listens on port \(port) of \(url.host): it must be "
                    + (holdsCertificate ? "this server." : "the proxy, and pass requests on here.")
            )
        case .unknownHost(let name):
            return .wrong(
                .publicURLUnreachable, "\(url.absolute) does not answer: \(error.words).",
                next:
                    "Let an A or AAAA record of \(name) lead to \(holdsCertificate ? "this machine" : "the proxy"), or "
                    + "correct publicURL. If others resolve it, fix this machine's DNS or name it in the hosts file.")
        case .connect, .timeout, .closed, .proxy:
            return .wrong(
                .publicURLUnreachable, "\(url.absolute) does not answer: \(error.words).",
                next:
                    "Start \(holdsCertificate ? "bramley serve" : "the proxy"); let the name \(url.host) lead to it, "
                    + "and port \(port) be open. If only this machine cannot reach its own public address, allow that "
                    + "(hairpin NAT) or name it in the hosts file.")
        }
    }

    /// By OpenSSL's texts, which are stable across versions. Others are reported unchanged.
    private func verdict(_ cause: String) -> (Finding, String, String) {
        if cause.contains("certificate has expired") {
            return (
                .tlsExpired, "The certificate of \(url.host) has expired",
                holdsCertificate
                    ? "Renew it: Bramley takes the new files within a second. See why it was not renewed by itself."
                    : "Renew it, reload the proxy, and see why it was not renewed by itself."
            )
        }
        if cause.contains("hostname mismatch") || cause.contains("IP address mismatch") {
            return (
                .tlsName, "The certificate at \(url.host) is for other names",
                "Get a certificate whose subjectAltName holds \(url.host), and let "
                    + (holdsCertificate
                        ? "server.certificateFile and server.privateKeyFile name it."
                        : "the proxy show it for that name.")
            )
        }
        if cause.contains("not yet valid") {
            return (
                .tlsUntrusted, "The certificate of \(url.host) is not valid yet",
                "Correct this machine's clock if it is behind (see clock above). Otherwise issue the certificate again "
                    + "from a machine whose clock is right."
            )
        }
        if cause.hasPrefix("certificate: ") {
            return (
                .tlsUntrusted, "The certificate of \(url.host) is not believed",
                "Use a certificate of a public authority, and let "
                    + (holdsCertificate ? "server.certificateFile hold" : "the proxy send")
                    + " the whole chain: the file must hold the intermediates behind the certificate (fullchain.pem). "
                    + "Apple believes no private authority."
            )
        }
        if cause.contains("protocol version") || cause.contains("unsupported protocol") {
            return (
                .tlsVersion, "\(url.host) speaks no TLS 1.2",
                holdsCertificate
                    ? "Look what listens on port \(port) of \(url.host): it is not this server, which speaks TLS 1.2 and "
                        + "1.3."
                    : "Enable TLS 1.2 and 1.3 in the proxy: Apple's servers demand 1.2 at least."
            )
        }
        if cause.contains("wrong version number") {
            return (
                .tlsFailed, "Port \(port) of \(url.host) does not speak TLS",
                holdsCertificate
                    ? "Let publicURL name server.port, not server.redirectPort; or look what else listens there."
                    : "Let publicURL name the port of the proxy that does, not server.port; or give the proxy its "
                        + "certificate."
            )
        }
        return (
            .tlsFailed, "TLS with \(url.host) fails",
            (holdsCertificate
                ? "Look what listens on port \(port) of \(url.host): this server speaks TLS 1.2 and 1.3, with ECDHE and "
                : "Let the proxy speak TLS 1.2 or 1.3 on port \(port), with ECDHE and ")
                + "AES-GCM or ChaCha20. openssl s_client -connect \(url.host):\(port) -servername \(url.host) shows how far it comes."
        )
    }
}
