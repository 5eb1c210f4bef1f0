internal import COpenSSL

/// The content of an X.509 certificate (RFC 5280), as far as its server is concerned. Nothing is verified.
package struct CertificateSummary: Hashable, Sendable {
    /// The key it certifies.
    package enum KeyKind: Hashable, Sendable {
        case rsa(bits: Int)
        /// OpenSSL's name of the curve: `prime256v1`.
        case elliptic(curve: String)
        /// OpenSSL's name of the algorithm: `ED25519`; empty when it has none.
        case other(String)
    }

    /// Its names (RFC 6125): DNS names in lower case and IP addresses of its subjectAltName, in its order.
    package let names: [String]
    /// OpenSSL's one-line form of a name: `CN=R11, O=Let's Encrypt, C=US`.
    package let subject: String
    package let issuer: String
    /// Seconds since 1970, inclusive.
    package let notBefore: Int64
    package let notAfter: Int64
    package let keyKind: KeyKind
    /// Whether it may certify others (basicConstraints).
    package let isAuthority: Bool
    /// Whether its own name and key are those of its issuer.
    package let isSelfSigned: Bool
    /// SHA-256 of the certificate.
    package let fingerprint: Digest256
    package let der: [UInt8]

    /// - Parameter der: exactly one certificate.
    package init?(der: [UInt8]) {
        guard let certificate = X509Certificate(der: der) else { return nil }
        self.init(certificate)
    }

    init?(_ certificate: X509Certificate) {
        guard let der = certificate.der, let notBefore = certificate.notBefore, let notAfter = certificate.notAfter,
            let keyKind = certificate.keyKind
        else { return nil }
        self.der = der
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.keyKind = keyKind
        fingerprint = SHA256.hash(der)
        names = certificate.names
        subject = certificate.subject
        issuer = certificate.issuer
        isAuthority = certificate.isAuthority
        isSelfSigned = certificate.isIssued(by: certificate)
    }

    /// Whether a browser accepts it for `host`: a matching name, a wildcard for the whole first label, or its IP
    /// address. The subject's common name is ignored.
    package func covers(_ host: String) -> Bool { X509Certificate(der: der)?.covers(host) == true }
}

/// A certificate with its issuers, as a TLS server sends them: its own first, then each one's issuer.
package struct CertificateChain: Hashable, Sendable {
    package enum Flaw: Error, Hashable, Sendable {
        case empty
        /// One cannot be read: its position, from 1.
        case malformed(Int)
        /// More certificates than any server sends.
        case tooLong
    }

    /// At least one.
    package let certificates: [CertificateSummary]
    /// The position, from 1, of the first certificate that did not issue the one before it; nil when each did.
    package let misplaced: Int?

    /// The most certificates.
    package static let maximum = 16

    package var leaf: CertificateSummary { certificates[0] }

    /// - Parameter pem: blocks of `CERTIFICATE` (RFC 7468 §5); other text is ignored.
    package init(pem: [UInt8]) throws(Flaw) {
        let parsed = try X509Certificate.parse(pem: pem, maximum: Self.maximum)
        guard !parsed.isEmpty else { throw .empty }
        certificates = try parsed.enumerated().map { index, certificate throws(Flaw) in
            guard let summary = CertificateSummary(certificate) else { throw .malformed(index + 1) }
            return summary
        }
        misplaced = parsed.indices.dropFirst().first { !parsed[$0 - 1].isIssued(by: parsed[$0]) }.map { $0 + 1 }
    }
}

/// The private key of a certificate, read only to be compared with it.
package struct CertificateKey: Sendable {
    private let key: EVPKey

    /// - Parameter pem: one block, `PRIVATE KEY`, `RSA PRIVATE KEY` or `EC PRIVATE KEY`, possibly with certificates.
    package init(pem: String) throws(KeyError) {
        guard let key = EVPKey.parsePrivate(try PEMBlock.parseAnyPrivateKey(pem)) else { throw .malformed }
        self.key = key
    }

    package func belongs(to certificate: CertificateSummary) -> Bool {
        X509Certificate(der: certificate.der)?.certifies(key) == true
    }
}
