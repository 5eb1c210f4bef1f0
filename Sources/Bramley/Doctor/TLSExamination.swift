internal import HTTP

/// Why publicURL could not be asked.
enum TLSExamination {
    static func diagnosis(of error: HTTPClientError, _ url: PublicURL) -> Diagnosis {
        guard case .tls(let cause) = error else {
            return .wrong(
                .publicURLUnreachable, "\(url.text) does not answer: \(error.words).",
                next:
                    "Start the proxy; let the name \(url.host) lead to it, and its port be open. If only this machine "
                    + "cannot reach its own public address, allow that (hairpin NAT) or name it in the hosts file.")
        }
        let (finding, what, next) = verdict(cause, url)
        return .wrong(finding, "\(what) (\(cause)).", next: next)
    }

    /// By the words of OpenSSL, which stay the same from version to version. What it says otherwise is told as it is.
    private static func verdict(_ cause: String, _ url: PublicURL) -> (Finding, String, String) {
        if cause.contains("certificate has expired") {
            return (
                .tlsExpired, "The certificate of \(url.host) has expired",
                "Renew it, reload the proxy, and see why it was not renewed by itself."
            )
        }
        if cause.contains("hostname mismatch") || cause.contains("IP address mismatch") {
            return (
                .tlsName, "The certificate at \(url.host) is for other names",
                "Get a certificate whose subjectAltName holds \(url.host), and let the proxy show it for that name."
            )
        }
        if cause.hasPrefix("certificate: ") {
            return (
                .tlsUntrusted, "The certificate of \(url.host) is not believed",
                "Use a certificate of a public authority, and let the proxy send the whole chain: the file must hold "
                    + "the intermediates behind the certificate (fullchain.pem). Apple believes no private authority."
            )
        }
        if cause.contains("protocol version") || cause.contains("unsupported protocol") {
            return (
                .tlsVersion, "\(url.host) speaks no TLS 1.2",
                "Enable TLS 1.2 and 1.3 in the proxy: Apple's servers demand 1.2 at least."
            )
        }
        return (
            .tlsFailed, "TLS with \(url.host) fails",
            "Let the proxy speak TLS 1.2 or 1.3 on that port, with ECDHE and AES-GCM or ChaCha20."
        )
    }
}
