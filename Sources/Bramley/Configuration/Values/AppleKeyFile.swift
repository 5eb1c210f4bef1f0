internal import Coding
internal import Crypto

/// The key file, which Apple offers for download only once.
enum AppleKeyFile {
    /// The ten characters in a name such as `AuthKey_F6G7H8I9J0.p8`; nil for other names.
    static func keyID(inNameOf path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard let match = name.wholeMatch(of: /AuthKey_([A-Z0-9]{10})\.p8/) else { return nil }
        return String(match.1)
    }

    /// Why a text is not such a key, as the end of a sentence about it; nil when it is one.
    static func flaw(in text: String) -> String? {
        let pem = PastedText.pem(text)
        let error: KeyError
        do throws(KeyError) {
            _ = try P256PrivateKey(pem: pem)
            return nil
        } catch let thrown {
            error = thrown
        }
        func has(_ labels: String...) -> Bool { labels.contains { pem.contains("-----BEGIN \($0)-----") } }
        if pem.allSatisfy(\.isWhitespace) { return "is empty." }
        if error == .encrypted { return "is encrypted with a password; Apple's keys are not." }
        if has("RSA PRIVATE KEY") || isRSA(pem) == true { return "is an RSA key; Apple's keys are P-256." }
        let blocks = pem.ranges(of: "-----BEGIN ").count - pem.ranges(of: "-----BEGIN EC PARAMETERS-----").count
        if blocks > 1 { return "contains more than one key or certificate." }
        if has("PRIVATE KEY", "EC PRIVATE KEY") {
            guard isRSA(pem) == nil, error != .wrongKind else {
                return "is a private key of another kind; Apple's keys are P-256."
            }
            return damage(in: pem)
        }
        if has("CERTIFICATE", "TRUSTED CERTIFICATE", "CERTIFICATE REQUEST") {
            return "is a certificate, not a private key."
        }
        if has("PUBLIC KEY", "RSA PUBLIC KEY") || pem.hasPrefix("ssh-") || pem.hasPrefix("ecdsa-") {
            return "is a public key, not a private one."
        }
        return wrapping(of: text) ?? "contains no P-256 private key."
    }

    private static func damage(in pem: String) -> String {
        let whole = "is a private key that is damaged or cut short"
        guard let end = pem.firstRange(of: "-----END ") else {
            return whole + ": its last line, -----END …, is missing."
        }
        let body = pem[..<end.lowerBound].split(separator: "-----").last ?? ""
        let alien = body.unicodeScalars.first { scalar in !scalar.properties.isWhitespace && !isBase64(scalar) }
        guard let alien else { return whole + "." }
        return whole + ": \(String(alien).quoted) (U+\(String(alien.value, radix: 16, uppercase: true))) is in it."
    }

    /// What is wrong with a text without a PEM block.
    private static func wrapping(of text: String) -> String? {
        let value = PastedText.value(text)
        if value.contains("BEGIN PRIVATE KEY") || value.contains("BEGIN EC PRIVATE KEY") {
            return "has other characters where its first line needs five hyphens on both sides."
        }
        // "-----BEGIN " in base64.
        if value.hasPrefix("LS0tLS1CRUdJTi") { return "is base64-encoded once more: decode it with base64 -d." }
        if value.hasSuffix(".p8"), !value.contains(where: \.isNewline) {
            return "is the name of a file: set it in the key whose name ends in File."
        }
        if value.hasPrefix("MI"), value.utf8.count > 100,
            value.unicodeScalars.allSatisfy({ $0.properties.isWhitespace || isBase64($0) || $0 == "-" })
                || value.contains("-----END ")
        {
            return "has no line -----BEGIN PRIVATE KEY-----, or none with END."
        }
        return nil
    }

    private static func isBase64(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", "+", "/", "=": true
        default: false
        }
    }

    /// By the algorithm in PKCS#8 (RFC 5208 §5), which is in the first bytes; nil for P-256 and where none is named.
    private static func isRSA(_ pem: String) -> Bool? {
        let lines = pem.split(whereSeparator: \.isNewline)
        guard let begin = lines.firstIndex(of: "-----BEGIN PRIVATE KEY-----"),
            let end = lines[begin...].firstIndex(of: "-----END PRIVATE KEY-----"),
            let bytes = Base64.decode(pemBody: lines[(begin + 1)..<end].joined(separator: "\n"))
        else { return nil }
        let start = bytes.prefix(40)
        // 1.2.840.113549.1.1, and 1.2.840.10045.3.1.7 with the curve.
        if start.contains([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]) { return true }
        return start.contains([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]) ? nil : false
    }
}
