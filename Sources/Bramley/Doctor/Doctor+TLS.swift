internal import HTTP
internal import Web

extension Doctor {
    /// - Parameter holdsCertificate: whether Bramley has its own certificate; otherwise a proxy must have it.
    static func unreachable(_ url: PublicURL, _ error: HTTPClientError, holdsCertificate: Bool) -> Diagnosis {
        let port = ClientURL(url.absolute)?.port ?? 443
        switch error {
        case .tls(let cause):
            let (finding, what, next) = tlsVerdict(cause, url.host, port, holdsCertificate: holdsCertificate)
            return .wrong(finding, "\(what) (\(cause)).", next: next)
        case .malformed, .tooLarge:
            return .wrong(
                .publicURLElsewhere, "Something answers at \(url.absolute), but not this Bramley: \(error.words).",
                next:
                    "See what listens on port \(port) of \(url.host): it must be "
                    + (holdsCertificate ? "this server." : "the proxy, and pass requests to this server.")
            )
        case .unknownHost(let name):
            return .wrong(
                .publicURLUnreachable, "\(url.absolute) does not answer: \(error.words).",
                next:
                    "Point an A or AAAA record of \(name) to \(holdsCertificate ? "this machine" : "the proxy"), or "
                    + "correct publicURL. If other machines resolve it, fix this machine's DNS or hosts file.")
        case .inside, .connect, .timeout, .closed, .proxy:
            return .wrong(
                .publicURLUnreachable, "\(url.absolute) does not answer: \(error.words).",
                next:
                    "Start \(holdsCertificate ? "bramley serve" : "the proxy"), point \(url.host) to it, and open port "
                    + "\(port). If only this machine cannot reach its own public address, allow that (hairpin NAT) or add "
                    + "it to the hosts file.")
        }
    }

    /// By OpenSSL's texts, which are stable across versions. Others are reported unchanged.
    private static func tlsVerdict(
        _ cause: String, _ host: String, _ port: UInt16, holdsCertificate: Bool
    ) -> (Finding, String, String) {
        if cause.contains("certificate has expired") {
            return (
                .tlsExpired, "The certificate of \(host) has expired",
                holdsCertificate
                    ? "Renew it: Bramley loads the new files within a second. Find out why it was not renewed automatically."
                    : "Renew it, reload the proxy, and find out why it was not renewed automatically."
            )
        }
        if cause.contains("hostname mismatch") || cause.contains("IP address mismatch") {
            return (
                .tlsName, "The certificate at \(host) is for other names",
                "Get a certificate whose subjectAltName has \(host), and make "
                    + (holdsCertificate
                        ? "server.certificateFile and server.privateKeyFile name it."
                        : "the proxy use it for that name.")
            )
        }
        if cause.contains("not yet valid") {
            return (
                .tlsUntrusted, "The certificate of \(host) is not valid yet",
                "Correct this machine's clock if it is behind (see clock above). Otherwise issue the certificate again "
                    + "from a machine whose clock is right."
            )
        }
        if cause.hasPrefix("certificate: ") {
            return (
                .tlsUntrusted, "The certificate of \(host) is not trusted",
                "Use a certificate from a public authority, and make "
                    + (holdsCertificate ? "server.certificateFile hold" : "the proxy send")
                    + " the whole chain: the file must have the intermediates after the certificate (fullchain.pem). "
                    + "Apple trusts no private authority."
            )
        }
        if cause.contains("protocol version") || cause.contains("unsupported protocol") {
            return (
                .tlsVersion, "\(host) does not speak TLS 1.2",
                holdsCertificate
                    ? "See what listens on port \(port) of \(host): it is not this server, which speaks TLS 1.2 and 1.3."
                    : "Enable TLS 1.2 and 1.3 in the proxy: Apple's servers require at least 1.2."
            )
        }
        if cause.contains("wrong version number") {
            return (
                .tlsFailed, "Port \(port) of \(host) does not speak TLS",
                holdsCertificate
                    ? "Set publicURL to server.port, not server.redirectPort, or see what else listens there."
                    : "Set publicURL to the proxy's TLS port, not server.port, or give the proxy its certificate."
            )
        }
        return (
            .tlsFailed, "TLS with \(host) fails",
            (holdsCertificate
                ? "See what listens on port \(port) of \(host): this server speaks TLS 1.2 and 1.3, with ECDHE and "
                : "Make the proxy speak TLS 1.2 or 1.3 on port \(port), with ECDHE and ")
                + "AES-GCM or ChaCha20. openssl s_client -connect \(host):\(port) -servername \(host) shows where it fails."
        )
    }
}
