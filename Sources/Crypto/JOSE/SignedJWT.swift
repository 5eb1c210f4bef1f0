package import Coding

/// The algorithms of our own tokens.
package enum SigningAlgorithm: String, Hashable, Sendable, CaseIterable {
    /// ECDSA over P-256 with SHA-256 (RFC 7518 §3.4).
    case es256 = "ES256"
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    case rs256 = "RS256"
}

/// A private key and the one algorithm it signs with (RFC 8725 §3.1).
package enum JWTSigningKey: Sendable {
    case es256(P256PrivateKey)
    case rs256(RSAPrivateKey)

    package var algorithm: SigningAlgorithm {
        switch self {
        case .es256: .es256
        case .rs256: .rs256
        }
    }

    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        switch self {
        case .es256(let key): try key.signES256(message)
        case .rs256(let key): try key.signRS256(message)
        }
    }

    /// The public half. Nil when OpenSSL does not provide it.
    package var publicJWK: JWK? {
        switch self {
        case .es256(let key): key.publicKey.coordinates.map { JWK(x: $0.x, y: $0.y) }
        case .rs256(let key): key.publicNumbers.map { JWK(modulus: $0.modulus, exponent: $0.exponent) }
        }
    }
}

/// Makes signed tokens (RFC 7515 §7.1, RFC 7519).
package enum SignedJWT {
    /// - Parameters:
    ///   - header: parameters besides `alg`, in order, such as `kid`.
    /// - Returns: the compact form.
    package static func sign(
        header: [(String, JSONValue)], claims: JSONObject, key: JWTSigningKey
    ) throws(KeyError) -> String {
        let algorithm = JSONValue.string(key.algorithm.rawValue)
        var header = JSONObject([("alg", algorithm)] + header)
        header["alg"] = algorithm
        var token = Base64URL.encodedBytes(JSONWriter.encode(header))
        token.append(UInt8(ascii: "."))
        token.append(contentsOf: Base64URL.encodedBytes(JSONWriter.encode(claims)))
        let signature = try key.sign(token)
        token.append(UInt8(ascii: "."))
        token.append(contentsOf: Base64URL.encodedBytes(signature))
        return String(decoding: token, as: UTF8.self)
    }
}

// The claims of a JSON Web Token (RFC 7519 §4). Only as trustworthy as its signature, if that was verified.
extension JSONObject {
    /// - Parameter payload: strict JSON, an object.
    package static func claims(_ payload: [UInt8]) throws(JOSEError) -> JSONObject {
        try parse(payload, part: "payload")
    }

    /// Seconds since 1970 (NumericDate, RFC 7519 §2), rounded down to milliseconds.
    ///
    /// - Returns: nil when absent, not a number, negative, not finite, or 2^53 and more.
    package func numericDate(_ name: String) -> Timestamp? {
        // From here on a double no longer represents every integer.
        let end: Int64 = 1 << 53
        guard case .number(let number)? = self[name] else { return nil }
        if let seconds = number.int64 { return (0..<end).contains(seconds) ? Timestamp(seconds: seconds) : nil }
        guard let seconds = number.double, seconds >= 0, seconds < Double(end) else { return nil }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }

    /// `aud`: one string or an array of strings (RFC 7519 §4.1.3). Empty when absent or anything else.
    package var audience: [String] {
        if case .string(let text)? = self["aud"] { [text] } else { self["aud"]?.textsValue ?? [] }
    }
}
