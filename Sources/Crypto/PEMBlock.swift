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
