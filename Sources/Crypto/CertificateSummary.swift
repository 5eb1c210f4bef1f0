internal import COpenSSL

/// What an X.509 certificate says (RFC 5280), as far as whoever shows it to visitors wants to know. Nothing is verified.
package struct CertificateSummary: Hashable, Sendable {
    /// The key it certifies.
    package enum KeyKind: Hashable, Sendable {
        /// Bits of the modulus.
        case rsa(bits: Int)
        /// OpenSSL's name of the curve: `prime256v1`.
        case elliptic(curve: String)
        /// OpenSSL's name of the algorithm: `ED25519`; empty when it has none.
        case other(String)
    }

    /// The names it is for (RFC 6125): DNS names in lower case, and IP addresses, of its subjectAltName. In its order.
    package let names: [String]
    /// As OpenSSL writes a name on one line: `CN=R11, O=Let's Encrypt, C=US`.
    package let subject: String
    package let issuer: String
    /// Seconds since 1970, both included.
    package let notBefore: Int64
    package let notAfter: Int64
    package let keyKind: KeyKind
    /// Whether it may certify others (basicConstraints).
    package let isAuthority: Bool
    /// Whether its own name and key are its issuer's.
    package let isSelfSigned: Bool
    /// SHA-256 of the whole.
    package let fingerprint: Digest256
    /// The whole, as ASN.1 has it.
    package let der: [UInt8]

    /// - Parameter der: one certificate, with nothing behind it.
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

    /// Whether a browser that asks for `host` takes it for that host's: a name of it, a wildcard for its whole first
    /// label, or its IP address. The subject's common name counts for nothing.
    package func covers(_ host: String) -> Bool {
        X509Certificate(der: der)?.covers(host) == true
    }
}

/// A certificate with what vouches for it, as a TLS server sends them: its own first, then each one's issuer.
package struct CertificateChain: Hashable, Sendable {
    package enum Flaw: Error, Hashable, Sendable {
        /// No certificate in it.
        case empty
        /// One cannot be read: its place, from 1.
        case malformed(Int)
        /// More than anybody sends.
        case tooLong
    }

    /// At least one.
    package let certificates: [CertificateSummary]
    /// The place, from 1, of the first certificate that did not issue the one before it; nil when each did.
    package let misplaced: Int?

    /// Certificates in all.
    package static let maximum = 16

    package var leaf: CertificateSummary { certificates[0] }

    /// - Parameter pem: blocks of `CERTIFICATE` (RFC 7468 §5); anything else in the text is passed over.
    package init(pem: [UInt8]) throws(Flaw) {
        let parsed = try X509Certificate.parse(pem: pem, maximum: Self.maximum)
        guard !parsed.isEmpty else { throw .empty }
        var summaries: [CertificateSummary] = []
        for certificate in parsed {
            guard let summary = CertificateSummary(certificate) else { throw .malformed(summaries.count + 1) }
            summaries.append(summary)
        }
        certificates = summaries
        misplaced = parsed.indices.dropFirst().first { !parsed[$0 - 1].isIssued(by: parsed[$0]) }.map { $0 + 1 }
    }
}

/// The private key of a certificate, read only to be held against it.
package struct CertificateKey: Sendable {
    private let key: EVPKey

    /// - Parameter pem: one block, `PRIVATE KEY`, `RSA PRIVATE KEY` or `EC PRIVATE KEY`. Certificates may stand beside it.
    package init(pem: String) throws(KeyError) {
        guard let key = EVPKey.parsePrivate(try PEMBlock.parseAnyPrivateKey(pem)) else { throw .malformed }
        self.key = key
    }

    /// Whether it is the key that a certificate certifies.
    package func belongs(to certificate: CertificateSummary) -> Bool {
        X509Certificate(der: certificate.der)?.certifies(key) == true
    }
}
