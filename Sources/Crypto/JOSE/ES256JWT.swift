package import Coding

/// Makes tokens signed with ES256 (RFC 7518 §3.4): the client secret Apple asks for, and our assertions.
package enum ES256JWT {
    /// - Parameters:
    ///   - header: parameters besides `alg`, in order, such as `kid`.
    /// - Returns: the compact form.
    package static func sign(
        header: [(String, JSONValue)], claims: JSONObject, key: P256PrivateKey
    ) throws(KeyError) -> String {
        var header = JSONObject([("alg", "ES256")] + header)
        header["alg"] = "ES256"
        var token = Base64URL.encodedBytes(JSONWriter.encode(header))
        token.append(UInt8(ascii: "."))
        token.append(contentsOf: Base64URL.encodedBytes(JSONWriter.encode(claims)))
        let signature = try key.signES256(token)
        token.append(UInt8(ascii: "."))
        token.append(contentsOf: Base64URL.encodedBytes(signature))
        return String(decoding: token, as: UTF8.self)
    }
}
