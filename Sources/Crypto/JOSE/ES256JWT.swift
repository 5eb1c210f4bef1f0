package import Coding

/// Makes tokens signed with ES256 (RFC 7518 §3.4): Apple's client secret.
package enum ES256JWT {
    /// - Parameters:
    ///   - header: parameters besides `alg`, in order, such as `kid`.
    /// - Returns: the compact form.
    package static func sign(
        header: [(String, JSONValue)], claims: JSONObject, key: P256PrivateKey
    ) throws(KeyError) -> String {
        try SignedJWT.sign(header: header, claims: claims, key: .es256(key))
    }
}
