import Coding

extension JWK {
    /// The key's thumbprint (RFC 7638): SHA-256, in base64url, of the required members of its type, in order and
    /// without whitespace.
    ///
    /// - Returns: nil for an unknown `kty`, or when a required member is absent or not a string.
    package var thumbprint: String? {
        let names: [String]
        switch object["kty"] {
        // RFC 7638 §3.2, in the lexicographic order of §3.3.
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
    /// The key as a JWK (RFC 7518 §6.2.1), with coordinates at full length. Nil when OpenSSL does not provide them.
    package var jwk: JWK? {
        guard let (x, y) = coordinates else { return nil }
        return JWK([
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ])
    }
}
