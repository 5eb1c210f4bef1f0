internal import Coding

/// Textual encoding of keys (RFC 7468).
enum PEMBlock {
    /// The bytes of the one private key in `text`; text outside the block is ignored (RFC 7468 §2).
    static func parsePrivateKey(_ text: String) throws(KeyError) -> SecretBytes {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingBlanks() }
        let begins = lines.indices.filter { lines[$0].hasPrefix("-----BEGIN ") && lines[$0].hasSuffix("-----") }
        // openssl ecparam writes the curve in a block of its own before the key.
        let keys = begins.filter { !lines[$0].contains("PARAMETERS") }
        guard keys.count == 1, let begin = keys.first else { throw .malformed }
        let label = lines[begin].dropFirst("-----BEGIN ".count).dropLast("-----".count)
        switch label {
        case "PRIVATE KEY", "EC PRIVATE KEY": break
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        default: throw .wrongKind
        }
        guard let end = lines[begin...].firstIndex(of: "-----END \(label)-----") else { throw .malformed }
        let body = lines[(begin + 1)..<end]
        // RFC 1421 headers: OpenSSL's older way to protect a key.
        if body.contains(where: { $0.hasPrefix("Proc-Type:") }) { throw .encrypted }
        guard var bytes = Base64.decode(pemBody: body.joined(separator: "\n")), !bytes.isEmpty else {
            throw .malformed
        }
        return SecretBytes(consuming: &bytes)
    }
}

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        var trimmed = drop { $0 == " " || $0 == "\t" }
        while let last = trimmed.last, last == " " || last == "\t" { trimmed.removeLast() }
        return trimmed
    }
}
