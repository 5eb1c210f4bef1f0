internal import Coding

/// Textual encoding of keys (RFC 7468).
enum PEMBlock {
    /// The bytes of the only private key in `text`; text outside the block is ignored (RFC 7468 §2).
    static func parsePrivateKey(_ text: String) throws(KeyError) -> SecretBytes {
        // openssl ecparam writes the curve in a separate block before the key.
        try parse(text, labels: ["PRIVATE KEY", "EC PRIVATE KEY"]) { !$0.contains("PARAMETERS") }
    }

    /// The same for any kind of key, in a text that may also contain certificates.
    static func parseAnyPrivateKey(_ text: String) throws(KeyError) -> SecretBytes {
        try parse(text, labels: ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]) {
            $0.hasSuffix("PRIVATE KEY-----")
        }
    }

    /// - Parameter counts: whether a block that begins with this line is a key; there must be exactly one.
    private static func parse(
        _ text: String, labels: [Substring], counts: (String) -> Bool
    ) throws(KeyError) -> SecretBytes {
        let lines = PastedText.pem(text).split(whereSeparator: \.isNewline).map { PastedText.trimmed(String($0)) }
        let begins = lines.indices.filter { lines[$0].hasPrefix("-----BEGIN ") && lines[$0].hasSuffix("-----") }
        let keys = begins.filter { counts(lines[$0]) }
        guard keys.count == 1, let begin = keys.first else { throw .malformed }
        let label = lines[begin].dropFirst("-----BEGIN ".count).dropLast("-----".count)
        guard label != "ENCRYPTED PRIVATE KEY" else { throw .encrypted }
        guard labels.contains(label) else { throw .wrongKind }
        guard let end = lines[begin...].firstIndex(of: "-----END \(label)-----") else { throw .malformed }
        let body = lines[(begin + 1)..<end]
        // RFC 1421 headers: OpenSSL's older key encryption.
        if body.contains(where: { $0.hasPrefix("Proc-Type:") }) { throw .encrypted }
        guard var bytes = Base64.decode(pemBody: body.joined(separator: "\n")), !bytes.isEmpty else {
            throw .malformed
        }
        return SecretBytes(consuming: &bytes)
    }
}

package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No PEM block, or invalid base64 or ASN.1 in it.
    case malformed
    case encrypted
    case wrongKind
    case unsupportedSize(bits: Int)
    case unsupportedExponent
    /// The coordinates are not a point of the curve, or the private and public halves do not match.
    case invalidPoint
    case internalFailure

    /// One line for the operator; contains nothing of the key.
    package var description: String {
        switch self {
        case .malformed: "this is not a readable key"
        case .encrypted: "the key is protected by a passphrase; store it without one"
        case .wrongKind: "this is another kind of key"
        case .unsupportedSize(let bits): "the key has \(bits) bits; 2048 to 4096 are allowed"
        case .unsupportedExponent: "the public exponent must be odd, at least 3 and at most 64 bits long"
        case .invalidPoint: "the key is not a point on its curve"
        case .internalFailure: "OpenSSL failed"
        }
    }
}
