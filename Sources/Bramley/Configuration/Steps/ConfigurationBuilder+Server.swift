import Coding
import Crypto
import Sockets
import Web

// Where visitors and operators are listened to.
extension ConfigurationBuilder {
    func checkServer(_ configuration: Configuration) {
        let server = configuration.server
        if let port = server.redirectPort {
            if areGood("publicURL"), !configuration.web.publicURL.isSecure {
                report(
                    "server.redirectPort", "redirects to https, and publicURL begins with http://.",
                    "Begin publicURL with https://, or remove the port.")
            } else if areGood("server.port"), server.listener.port == port {
                report("server.redirectPort", "is \(port), the same as server.port.", "Write another port, such as 80.")
            }
        }
        if server.proxyProtocol, server.trustedProxies.isEmpty, areGood("server.trustedProxies") {
            report(
                "server.proxyProtocol",
                "is true, but no proxy is trusted to say who its clients are, so every connection would be closed.",
                "Name the proxy that sends the PROXY protocol in server.trustedProxies.")
        }
        checkPorts(server, configuration.admin)
    }

    private func checkPorts(_ server: Configuration.Server, _ admin: SocketAddress) {
        guard
            areGood("server.host", "server.port", "server.redirectPort", "admin.host", "admin.port")
        else { return }
        let name: String
        switch admin.port {
        case server.listener.port: name = "server.port"
        case server.redirectPort: name = "server.redirectPort"
        default: return
        }
        let everywhere: Set<IPAddress> = [.v4(0), .v6(0, 0)]
        let (host, other) = (server.listener.ip, admin.ip)
        guard host == other || everywhere.contains(host) || everywhere.contains(other) else { return }
        report("admin.port", "is \(admin.port), the same as \(name).", "Write another port.")
    }
}

// Bramley's own TLS: `server.certificateFile`, `server.privateKeyFile` and their twins.
extension ConfigurationBuilder {
    func readTLS(_ configuration: inout Configuration) {
        let (certificateKey, privateKeyKey) = ("server.certificateFile", "server.privateKeyFile")
        // Everybody may read a certificate, but not change it; the file may contain a key too.
        let certificate = given(certificateKey) { readFile($0, $1, holdsSecret: \.holdsPrivateKey) }
        let key = given(privateKeyKey, readSecret)
        guard certificate != nil || isMissing(certificateKey), key != nil || isMissing(privateKeyKey) else { return }
        guard let certificate else {
            guard let key else { return }
            return fail(
                certificateKey, "is missing, and \(key.key) is given.",
                "Name the file with the chain; or remove both, and let a proxy hold the certificate.")
        }
        let publicURL = areGood("publicURL") ? configuration.web.publicURL : nil
        if key != nil, let publicURL, !publicURL.isSecure {
            return fail(
                certificate.key, "is given, but publicURL begins with http://.",
                "Begin publicURL with https://, or remove the certificate.")
        }
        let isGood = judge(
            certificate, key, host: publicURL?.host, isDirect: configuration.server.trustedProxies.isEmpty)
        guard let key else {
            return fail(
                privateKeyKey, "is missing, and \(certificate.key) is given.",
                "Name the key's file; or remove both, and let a proxy hold the certificate.")
        }
        guard isGood else { return }
        configuration.server.tls = Configuration.TLS(
            certificate: certificate.bytes, certificateFile: certificate.path, privateKey: Secret(key.text),
            privateKeyFile: key.path)
    }

    /// False after an error, which is then reported.
    private func judge(_ certificate: GivenText, _ key: GivenText?, host: String?, isDirect: Bool) -> Bool {
        let judgement = CertificateJudgement(
            certificate: certificate.bytes, privateKey: key.map { Secret($0.text) }, host: host,
            isDirect: isDirect, now: input.clock.now())
        for finding in judgement.findings {
            let part = finding.isOfKey ? key ?? certificate : certificate
            problems.append(
                ConfigurationProblem(
                    severity: finding.severity, key: part.key, source: source(of: part.key),
                    fault: part.subject + finding.fault, remedy: finding.remedy))
        }
        guard judgement.errors.isEmpty, let key else { return false }
        // Finally the module that will serve them, which may be stricter.
        do throws(TLSConfigurationError) {
            _ = try TLSAcceptor(certificate: certificate.bytes, privateKey: key.bytes)
            return true
        } catch {
            fail(
                certificate.key, "and its private key cannot be served: \(error).",
                "Get a certificate from a public authority for a P-256 key, or RSA with 2048 bits.")
            return false
        }
    }
}
