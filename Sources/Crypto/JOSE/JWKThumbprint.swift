import Coding

extension JWK {
    /// The key's own name (RFC 7638): SHA-256, in base64url, of the members a key of its type must have, in order and
    /// without blanks.
    ///
    /// - Returns: nil for an unknown `kty`, or when one of the members is absent or no text.
    package var thumbprint: String? {
        let names: [String]
        switch object["kty"] {
        // RFC 7638 §3.2, in lexicographic order as §3.3 wants them.
        case "EC": names = ["crv", "kty", "x", "y"]
        case "RSA": names = ["e", "kty", "n"]
        // RFC 8037 §2.
        case "OKP": names = ["crv", "kty", "x"]
        default: return nil
        }
        var required = JSONObject()
        for name in names {
            guard let text = object[name]?.stringValue else { return nil }
            required[name] = .string(text)
        }
        return Base64URL.encode(SHA256.hash(JSONWriter.encode(required)).bytes)
    }
}

extension P256PublicKey {
    /// The key as others read it (RFC 7518 §6.2.1): coordinates at full length. Nil when OpenSSL does not give them.
    package var jwk: JWK? {
        guard let (x, y) = coordinates else { return nil }
        return JWK([
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ])
    }
}
