import Coding
import Crypto

/// Judges a certificate and its key before they are served. Contains nothing of the key.
struct CertificateJudgement {
    /// What is wrong; the values are the log's reason codes.
    enum Reason: String, Hashable, Sendable {
        case noCertificate = "no_certificate"
        case unreadableCertificate = "unreadable_certificate"
        case unreadableKey = "unreadable_key"
        case encryptedKey = "encrypted_key"
        case mismatch
        case weakKey = "weak_key"
        case unsuitableKey = "unsuitable_key"
        case wrongName = "wrong_name"
        case expired
        case notYetValid = "not_yet_valid"
        case expiresSoon = "expires_soon"
        case wrongOrder = "wrong_order"
        case incompleteChain = "incomplete_chain"
        case selfSigned = "self_signed"
    }

    struct Finding: Hashable, Sendable {
        var severity: ConfigurationProblem.Severity
        var reason: Reason
        var isOfKey: Bool
        var fault: String
        var remedy: String
    }

    private(set) var findings: [Finding] = []
    private(set) var chain: CertificateChain?

    var errors: [Finding] { findings.filter { $0.severity == .error } }

    /// A certificate is about to expire when less than a fifth of its life is left, but never earlier than this:
    /// automatic renewal should have happened long before. Seconds.
    private static let longestWarning: Int64 = 21 * 86_400

    /// - Parameters:
    ///   - privateKey: nil judges only the certificate.
    ///   - isDirect: whether browsers see the certificate themselves. A proxy may accept what they would not.
    init(certificate: [UInt8], privateKey: Secret?, host: String?, isDirect: Bool, now: Timestamp) {
        let key = privateKey.flatMap { readKey($0) }
        guard let chain = readChain(certificate) else { return }
        self.chain = chain
        if let key, !key.belongs(to: chain.leaf), let index = chain.certificates.firstIndex(where: key.belongs) {
            // The first certificate is not the one to judge.
            fail(
                .wrongOrder, "has the key's certificate in position \(index + 1).",
                "Put it first, and its intermediates after it (fullchain.pem).")
            return
        }
        judgeKind(of: chain.leaf)
        if let key, !key.belongs(to: chain.leaf) {
            fail(
                .mismatch, ofKey: true, "is not the key of the certificate.",
                "Name the two files that were issued together (fullchain.pem and privkey.pem).")
        }
        if let host { judgeNames(of: chain.leaf, host, isDirect) }
        judgeTime(of: chain.leaf, now)
        judgeOrder(of: chain)
    }

    private mutating func readKey(_ text: Secret) -> CertificateKey? {
        do throws(KeyError) {
            return try CertificateKey(pem: text.reveal())
        } catch {
            switch error {
            case .encrypted:
                fail(
                    .encryptedKey, ofKey: true, "is protected by a passphrase, which nobody can enter at a restart.",
                    "Store it without one: openssl pkey -in KEY -out NEW, mode 600.")
            default:
                fail(
                    .unreadableKey, ofKey: true, "holds no readable private key.",
                    "Use one PEM block that begins with -----BEGIN PRIVATE KEY-----, or RSA or EC PRIVATE KEY.")
            }
            return nil
        }
    }

    private mutating func readChain(_ bytes: [UInt8]) -> CertificateChain? {
        let remedy = "Use the PEM file with the certificate first and its intermediates after it (fullchain.pem)."
        do throws(CertificateChain.Flaw) {
            return try CertificateChain(pem: bytes)
        } catch {
            switch error {
            case .empty: fail(.noCertificate, "holds no certificate.", remedy)
            case .malformed(let place):
                fail(.unreadableCertificate, "holds a certificate (number \(place)) that cannot be read.", remedy)
            case .tooLong:
                fail(
                    .unreadableCertificate,
                    "holds more than \(CertificateChain.maximum) certificates, more than browsers accept.", remedy)
            }
            return nil
        }
    }

    private mutating func judgeKind(of leaf: CertificateSummary) {
        let reason: Reason
        let kind: String
        switch leaf.keyKind {
        case .rsa(let bits) where bits < 2048:
            (reason, kind) = (.weakKey, "an RSA key of \(bits) bits, which is weak, and browsers refuse it")
        case .rsa, .elliptic(curve: "prime256v1"), .elliptic(curve: "secp384r1"), .elliptic(curve: "secp521r1"): return
        case .elliptic(let curve):
            reason = .unsuitableKey
            kind = "a key on the curve \(curve.isEmpty ? "of no name" : curve), which browsers do not support"
        case .other(let other):
            (reason, kind) = (.unsuitableKey, "a key of the kind \(other), which browsers do not support")
        }
        fail(reason, "is for \(kind).", "Get one for a P-256 key, or RSA with 2048 bits.")
    }

    private mutating func judgeNames(of leaf: CertificateSummary, _ host: String, _ isDirect: Bool) {
        guard !leaf.covers(host) else { return }
        let names = leaf.names.isEmpty ? "no name at all" : leaf.names.prefix(5).joined(separator: ", ")
        let fault = "is for \(names), but publicURL's host is \(host)."
        if isDirect {
            fail(.wrongName, fault, "Get one whose subjectAltName holds \(host).")
        } else {
            warn(
                .wrongName, fault,
                "If visitors reach this server past the proxy of server.trustedProxies, get one whose subjectAltName "
                    + "holds \(host).")
        }
    }

    private mutating func judgeTime(of leaf: CertificateSummary, _ now: Timestamp) {
        let end = Timestamp(seconds: leaf.notAfter)
        if now.seconds > leaf.notAfter {
            warn(
                .expired, "expired at \(end.rfc3339): browsers refuse it.",
                "Renew it, and find out why that did not happen automatically. A running server loads the new one automatically."
            )
        } else if now.seconds < leaf.notBefore {
            warn(
                .notYetValid, "is not valid before \(Timestamp(seconds: leaf.notBefore).rfc3339).",
                "Check this machine's clock, or use the previous certificate until then.")
        } else if Self.isExpiring(leaf, at: now) {
            warn(
                .expiresSoon, "expires at \(end.rfc3339), in \(Self.left(of: leaf, at: now)).",
                "Renew it, and find out why that did not happen automatically.")
        }
    }

    private mutating func judgeOrder(of chain: CertificateChain) {
        if let place = chain.misplaced {
            warn(
                .wrongOrder,
                "has a certificate in position \(place) that did not issue number \(place - 1), where some clients stop.",
                "Put each certificate after the one it issued, and remove unrelated ones (fullchain.pem).")
        }
        guard chain.certificates.count == 1 else { return }
        if chain.leaf.isSelfSigned {
            warn(
                .selfSigned, "is self-signed, which no browser trusts.",
                "That is fine for tests. Otherwise get one from a public authority.")
        } else {
            warn(
                .incompleteChain,
                "contains no intermediate certificate, so clients may not know who issued it (\(chain.leaf.issuer)).",
                "Name the file with the whole chain (fullchain.pem), unless browsers know that authority itself.")
        }
    }

    static func isExpiring(_ leaf: CertificateSummary, at now: Timestamp) -> Bool {
        leaf.notAfter - now.seconds < min((leaf.notAfter - leaf.notBefore) / 5, longestWarning)
    }

    static func left(of leaf: CertificateSummary, at now: Timestamp) -> String {
        let seconds = max(0, leaf.notAfter - now.seconds)
        return seconds >= 2 * 86_400 ? "\(seconds / 86_400) days" : "\(seconds / 3600) hours"
    }

    private mutating func fail(_ reason: Reason, ofKey: Bool = false, _ fault: String, _ remedy: String) {
        findings.append(Finding(severity: .error, reason: reason, isOfKey: ofKey, fault: fault, remedy: remedy))
    }

    private mutating func warn(_ reason: Reason, _ fault: String, _ remedy: String) {
        findings.append(Finding(severity: .warning, reason: reason, isOfKey: false, fault: fault, remedy: remedy))
    }
}
