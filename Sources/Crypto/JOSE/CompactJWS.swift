package import Coding

/// A signed token in compact form (RFC 7515 §7.1), parsed and not yet verified: nothing in it is trusted.
package struct CompactJWS: Sendable {
    package static let defaultMaximumBytes = 16_384

    /// The protected header. It may contain `jwk`, `jku`, `x5u`, `x5c` and similar; they are never used.
    package let header: JSONObject
    /// The claimed `alg`: only compared with the one allowed algorithm, never used to choose one.
    package let algorithm: String?
    package let keyID: String?
    package let payload: [UInt8]
    package let signature: [UInt8]
    /// What was signed: the first two parts with the dot between them.
    package let signingInput: [UInt8]

    /// Parses a token, refusing whatever could be read in two ways.
    ///
    /// Refused: other than three non-empty parts; non-canonical base64url; a header that is not strict JSON (including
    /// duplicate members) or not an object; `alg` or `kid` that is not a string; `crit` (RFC 7515 §4.1.11: none is
    /// supported here); `b64` other than true (RFC 7797); `typ` unless absent or `JWT` in any case (RFC 7519 §5.1).
    package static func parse(_ text: String, maximumBytes: Int = defaultMaximumBytes) throws(JOSEError) -> CompactJWS {
        guard text.utf8.count <= maximumBytes else { throw .tooLarge(limit: maximumBytes) }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, !parts[2].isEmpty else { throw .notCompact }
        guard let headerBytes = Base64URL.decode(parts[0]) else { throw .notBase64URL(part: "header") }
        guard let payload = Base64URL.decode(parts[1]) else { throw .notBase64URL(part: "payload") }
        guard let signature = Base64URL.decode(parts[2]) else { throw .notBase64URL(part: "signature") }
        let header = try JSONObject.parse(headerBytes, part: "header")
        try refuseUnsupported(header)
        return CompactJWS(
            header: header,
            algorithm: try string("alg", of: header),
            keyID: try string("kid", of: header),
            payload: payload,
            signature: signature,
            signingInput: Array(bytes[..<parts[1].endIndex]))
    }

    private static func refuseUnsupported(_ header: JSONObject) throws(JOSEError) {
        if header["crit"] != nil { throw .unsupportedHeader("crit") }
        if let b64 = header["b64"], b64 != .bool(true) { throw .unsupportedHeader("b64") }
        if let typ = header["typ"] {
            guard let text = typ.stringValue, text.isExactly("JWT") || text.lowercased().isExactly("jwt") else {
                throw .unsupportedHeader("typ")
            }
        }
    }

    private static func string(_ name: String, of header: JSONObject) throws(JOSEError) -> String? {
        guard let value = header[name] else { return nil }
        guard let text = value.stringValue else { throw .wrongShape("\(name) in the header is not a string") }
        return text
    }
}

extension JSONObject {
    /// - Parameter part: names the part in the error.
    static func parse(
        _ bytes: [UInt8], part: String, limits: JSONLimits = JSONLimits()
    ) throws(JOSEError) -> JSONObject {
        let value = try translating(try JSONReader.parse(bytes, limits: limits)) { (error: JSONError) in
            JOSEError.notJSON(part: part, error)
        }
        guard let object = value.objectValue else { throw .wrongShape("the \(part) is not a JSON object") }
        return object
    }
}

/// The only algorithm this server accepts in foreign tokens (RFC 7518 §3.3).
package enum RS256 {
    package static let name = "RS256"

    /// Refuses any token whose header does not say exactly RS256: cheap, so done before looking for a key.
    package static func requireAlgorithm(of jws: CompactJWS) throws(JOSEError) {
        guard let algorithm = jws.algorithm, algorithm.isExactly(name) else { throw .algorithm(jws.algorithm) }
    }

    /// - Throws: `.algorithm` or `.badSignature`. Nothing of the token may be trusted before this returns.
    package static func verify(_ jws: CompactJWS, with key: RSAPublicKey) throws(JOSEError) {
        try requireAlgorithm(of: jws)
        guard key.verifyRS256(signature: jws.signature, message: jws.signingInput) else { throw .badSignature }
    }
}

/// Why a token or a key set was refused. For the log: no part of the token but its kid or alg.
package enum JOSEError: Error, Hashable, Sendable, CustomStringConvertible {
    case tooLarge(limit: Int)
    case notCompact
    case notBase64URL(part: String)
    case notJSON(part: String, JSONError)
    /// A part is JSON but not an object, or a member has the wrong type.
    case wrongShape(String)
    /// A header parameter that changes how the token must be read (`crit`, `b64`, `typ`).
    case unsupportedHeader(String)
    /// `alg` is absent or not the allowed one.
    case algorithm(String?)
    /// The set has no key with this kid, or the token names none.
    case unknownKey(String?)
    /// The key may not be used for this.
    case unusableKey(String)
    case refusedKeySet(String)
    case badSignature

    package var description: String {
        switch self {
        case .tooLarge(let limit): "longer than \(limit) bytes"
        case .notCompact: "not three non-empty parts between dots"
        case .notBase64URL(let part): "the \(part) is not canonical base64url"
        case .notJSON(let part, let error): "the \(part) is not JSON: \(error)"
        case .wrongShape(let text): text
        case .unsupportedHeader(let name): "the header parameter \(name) is not accepted"
        case .algorithm(nil): "the header names no algorithm"
        case .algorithm(let name?): "the algorithm \(name.prefix(32).debugDescription) is not accepted"
        case .unknownKey(nil): "the header names no key"
        case .unknownKey(let kid?): "no key is named \(kid.prefix(64).debugDescription)"
        case .unusableKey(let text): "the key is not usable: \(text)"
        case .refusedKeySet(let text): "the key set is refused: \(text)"
        case .badSignature: "the signature does not verify"
        }
    }
}
