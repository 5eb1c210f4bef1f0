import Coding
import Crypto
import Sockets
import Web

// TLS here: `server.certificateFile`, `server.privateKeyFile` and their twins, and the plain port beside it.
extension ConfigurationBuilder {
    /// Keys that may be left out. Nil means a problem; a value of nil means that nothing was given.
    struct TLSSection { var value: Configuration.TLS? }

    private static let certificateKeys = ("server.certificateFile", "server.certificate")
    private static let privateKeyKeys = ("server.privateKeyFile", "server.privateKey")

    func tls(_ publicURL: PublicURL?, proxies: [IPNetwork]?) -> TLSSection? {
        let certificate = part(Self.certificateKeys, read: readCertificate)
        let privateKey = part(Self.privateKeyKeys, read: readSecret)
        guard let certificate, let privateKey else { return nil }
        switch (certificate.value, privateKey.value) {
        case (nil, nil): return TLSSection(value: nil)
        case (let certificate?, nil):
            _ = judge(certificate, nil, host: publicURL?.host, isDirect: proxies?.isEmpty ?? true)
            values.fail(
                Self.privateKeyKeys.0, "is missing, and \(certificate.key) is given.",
                "Name the key's file; or remove both, and let a proxy hold the certificate.")
            return nil
        case (nil, let key?):
            values.fail(
                Self.certificateKeys.0, "is missing, and \(key.key) is given.",
                "Name the file with the chain; or remove both, and let a proxy hold the certificate.")
            return nil
        case (let certificate?, let key?):
            if let publicURL, !publicURL.isSecure {
                values.fail(
                    certificate.key, "is given, but publicURL begins with http://.",
                    "Begin publicURL with https://, or remove the certificate.")
                return nil
            }
            guard
                judge(certificate, key, host: publicURL?.host, isDirect: proxies?.isEmpty ?? true)
            else { return nil }
            return TLSSection(
                value: Configuration.TLS(
                    certificate: Array(certificate.text.utf8), certificateFile: certificate.path,
                    privateKey: Secret(key.text), privateKeyFile: key.path))
        }
    }

    // MARK: Reading

    /// A text that stands in a file or in the configuration itself.
    private struct Given {
        /// Which of the twins gives it.
        var key: String
        var path: String?
        var text: String
    }

    private struct Part { var value: Given? }

    private func part(
        _ keys: (file: String, inline: String), read: (_ key: String, _ path: String) -> String?
    ) -> Part? {
        let file = values.text(keys.file)
        let inline = values.text(keys.inline)
        guard !refuseTwins(keys.file, keys.inline) else { return nil }
        if let file { return read(keys.file, file).map { Part(value: Given(key: keys.file, path: file, text: $0)) } }
        if let inline {
            // The environment cannot always carry line ends: \n is taken for one.
            return Part(value: Given(key: keys.inline, path: nil, text: inline.replacing("\\n", with: "\n")))
        }
        let isThere = [keys.file, keys.inline].contains { values.isGiven($0) || values.isRefused($0) }
        return isThere ? nil : Part(value: nil)
    }

    /// Everybody may read a certificate. Who can write to it can take the site down; and a key may stand beside it.
    private func readCertificate(_ key: String, _ path: String) -> String? {
        do throws(GuardedFile.Failure) {
            let file = try CertificateFile.read(path)
            let holdsKey = CertificateFile.holdsKey(file)
            guard !file.isWritableByOthers || holdsKey else {
                values.fail(key, "\(path.quoted) can be changed by other users.", "Run: chmod go-w \(path)")
                return nil
            }
            if holdsKey {
                for problem in FileModeRule.problems(
                    of: file, at: path, key: key, source: values.source(of: key), holdsSecret: true)
                {
                    values.problems.add(problem)
                }
            }
            return String(decoding: file.bytes, as: UTF8.self)
        } catch {
            values.fail(key, "\(path.quoted) \(error.fault)", error.remedy(for: path))
            return nil
        }
    }

    // MARK: Judging

    /// False after an error, which is said then.
    private func judge(_ certificate: Given, _ key: Given?, host: String?, isDirect: Bool) -> Bool {
        let judgement = CertificateJudgement(
            certificate: Array(certificate.text.utf8), privateKey: key.map { Secret($0.text) }, host: host,
            isDirect: isDirect, now: now)
        for finding in judgement.findings {
            let part = finding.part == .privateKey ? key ?? certificate : certificate
            values.problems.add(
                ConfigurationProblem(
                    finding.severity, key: part.key, source: values.source(of: part.key),
                    fault: part.path.map { "\($0.quoted) \(finding.fault)" } ?? finding.fault, remedy: finding.remedy))
        }
        guard judgement.errors.isEmpty, let key else { return false }
        // Last of all whoever will serve them, which may be stricter still.
        do throws(TLSConfigurationError) {
            _ = try TLSAcceptor(certificate: Array(certificate.text.utf8), privateKey: Array(key.text.utf8))
            return true
        } catch {
            values.fail(
                certificate.key, "and its private key cannot be served: \(error).",
                "Get a certificate of a public authority for a P-256 key, or RSA with 2048 bits.")
            return false
        }
    }

    // MARK: The plain port

    /// A port that may be left out.
    struct RedirectSection { var value: UInt16? }

    func redirectPort(
        _ publicURL: PublicURL?, server: Configuration.Listener?
    ) -> RedirectSection? {
        guard let port = values.integer("server.redirectPort") else {
            return values.isGiven("server.redirectPort") ? nil : RedirectSection(value: nil)
        }
        if let publicURL, !publicURL.isSecure {
            values.fail(
                "server.redirectPort", "leads to https, and publicURL begins with http://.",
                "Begin publicURL with https://, or remove the port.")
            return nil
        }
        if let server, Int(server.port) == port {
            values.fail("server.redirectPort", "is \(port), as server.port is.", "Write another port, such as 80.")
            return nil
        }
        return RedirectSection(value: UInt16(clamping: port))
    }

    /// `server.proxyProtocol`; nil after a problem.
    func proxyProtocol(_ proxies: [IPNetwork]?) -> Bool? {
        guard let isOn = values.boolean("server.proxyProtocol") else { return nil }
        if isOn, let proxies, proxies.isEmpty {
            values.fail(
                "server.proxyProtocol",
                "is true, but no proxy is trusted to say who its clients are, so that every connection would be closed.",
                "Name the proxy that sends the PROXY protocol in server.trustedProxies.")
            return nil
        }
        return isOn
    }
}

/// The file a certificate's chain stands in.
enum CertificateFile {
    /// The most that is read of it, and of the key's.
    static let maximumBytes = AppleKeyFile.maximumBytes

    static func read(_ path: String) throws(GuardedFile.Failure) -> GuardedFile {
        try GuardedFile.read(path, maximumBytes: maximumBytes)
    }

    static func holdsKey(_ file: GuardedFile) -> Bool {
        String(decoding: file.bytes, as: UTF8.self).contains("PRIVATE KEY-----")
    }
}
