package import Coding

/// One public key in JSON (RFC 7517 §4), as written.
package struct JWK: Sendable {
    /// Members that contain a secret (RFC 7518 §6.2.2, §6.3.2, §6.4.1): no public key set has one.
    static let secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]

    package let object: JSONObject

    package init(_ object: JSONObject) { self.object = object }

    /// - Throws: `.notJSON` or `.wrongShape`.
    package static func parse(_ bytes: [UInt8]) throws(JOSEError) -> JWK {
        JWK(try JSONObject.parse(bytes, part: "key"))
    }

    /// `kid`; nil when absent, empty or not a string.
    package var keyID: String? {
        guard let text = object["kid"]?.stringValue, !text.isEmpty else { return nil }
        return text
    }

    var holdsSecret: Bool { Self.secretMembers.contains { object[$0] != nil } }

    /// The key for RS256, if this is one.
    package func rs256Key() throws(JOSEError) -> RSAPublicKey {
        try require(type: "RSA", algorithm: "RS256")
        let modulus = try unsignedInteger("n")
        let exponent = try unsignedInteger("e")
        return try translating(try RSAPublicKey(modulus: modulus, exponent: exponent), Self.unusable)
    }

    /// The key for ES256, if this is one.
    package func es256Key() throws(JOSEError) -> P256PublicKey {
        P256PublicKey(key: try ellipticKey(.p256, named: "P-256", algorithm: "ES256"))
    }

    /// The key for ES512, if this is one: only for `JWSCheck`.
    func es512Key() throws(JOSEError) -> ECPublicKey {
        try ellipticKey(.p521, named: "P-521", algorithm: "ES512")
    }

    private func ellipticKey(_ curve: Curve, named name: String, algorithm: String) throws(JOSEError) -> ECPublicKey {
        try require(type: "EC", algorithm: algorithm)
        guard object["crv"] == .string(name) else { throw .unusableKey("crv is not \(name)") }
        let x = try octets("x")
        let y = try octets("y")
        return try translating(try ECPublicKey(curve: curve, x: x, y: y), Self.unusable)
    }

    private static func unusable(_ error: KeyError) -> JOSEError { .unusableKey(error.description) }

    /// The members a key must have, or may omit, to verify signatures of `algorithm`.
    private func require(type: String, algorithm: String) throws(JOSEError) {
        guard object["kty"] == .string(type) else { throw .unusableKey("kty is not \(type)") }
        if let use = object["use"], use != "sig" { throw .unusableKey("use is not sig") }
        if let alg = object["alg"], alg != .string(algorithm) { throw .unusableKey("alg is not \(algorithm)") }
        if let operations = object["key_ops"] {
            guard let list = operations.arrayValue, list.contains("verify") else {
                throw .unusableKey("key_ops does not hold verify")
            }
        }
    }

    private func octets(_ name: String) throws(JOSEError) -> [UInt8] {
        guard let text = object[name]?.stringValue, let bytes = Base64URL.decode(text), !bytes.isEmpty else {
            throw .unusableKey("\(name) is not base64url")
        }
        return bytes
    }

    /// RFC 7518 §2, Base64urlUInt: the fewest octets that represent the number.
    private func unsignedInteger(_ name: String) throws(JOSEError) -> [UInt8] {
        let bytes = try octets(name)
        guard bytes[0] != 0 else { throw .unusableKey("\(name) has a leading zero octet") }
        return bytes
    }

    /// The key's thumbprint (RFC 7638): SHA-256, in base64url, of the required members of its type.
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

// Without `kid`, `use` and `alg`.
extension JWK {
    /// A P-256 key (RFC 7518 §6.2.1).
    /// - Parameters: coordinates at full length.
    package init(x: [UInt8], y: [UInt8]) {
        self.init([
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ])
    }

    /// An RSA key (RFC 7518 §6.3.1).
    package init(modulus: [UInt8], exponent: [UInt8]) {
        self.init([
            "kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": .string(Base64URL.encode(exponent)),
        ])
    }
}
