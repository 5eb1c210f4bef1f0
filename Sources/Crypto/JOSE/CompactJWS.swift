package import Coding

/// A signed token in compact form (RFC 7515 §7.1), parsed and not yet verified: nothing in it is trusted.
package struct CompactJWS: Sendable {
    /// The default size limit of a token in bytes.
    package static let defaultMaximumBytes = 16_384

    /// The protected header. It may contain `jwk`, `jku`, `x5u`, `x5c` and similar; they are never used.
    package let header: JSONObject
    /// The claimed `alg`: only compared with the one allowed algorithm, never used to choose one.
    package let algorithm: String?
    /// `kid`.
    package let keyID: String?
    package let payload: [UInt8]
    package let signature: [UInt8]
    /// What was signed: the first two parts with the dot between them.
    package let signingInput: [UInt8]

    /// Parses a token, refusing whatever could be read in two ways.
    ///
    /// Refused: other than three non-empty parts; non-canonical base64url; a header that is not strict JSON (including
    /// duplicate members) or not an object; `alg` or `kid` that is not a string; `crit` (RFC 7515 §4.1.11: none is
    /// understood here); `b64` other than true (RFC 7797); `typ` unless absent or `JWT` in any case (RFC 7519 §5.1).
    package static func parse(
        _ text: String, maximumBytes: Int = defaultMaximumBytes
    ) throws(JOSEError) -> CompactJWS {
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
        let value: JSONValue
        do {
            value = try JSONReader.parse(bytes, limits: limits)
        } catch {
            throw .notJSON(part: part, error)
        }
        guard let object = value.objectValue else { throw .wrongShape("the \(part) is not a JSON object") }
        return object
    }
}
