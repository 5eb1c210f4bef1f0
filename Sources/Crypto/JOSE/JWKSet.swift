package import Coding

/// A public key set (RFC 7517 §5), with the keys that may verify RS256 already built.
///
/// The whole set is refused for two keys with one kid, since a token could mean either, and for a secret member, since
/// whoever publishes one has a broken set. Keys unusable for RS256 are skipped, for whatever reason (RFC 7517 §5).
package struct JWKSet: Sendable {
    package static let maximumBytes = 262_144
    /// Apple publishes 3 to 5 at a time. Each key costs work to build.
    package static let maximumKeys = 64

    /// Every key as written, usable or not.
    package let keys: [JWK]
    /// The usable keys: kty RSA; kid non-empty; use absent or sig; alg absent or RS256; key_ops absent or with verify;
    /// 2048 to 4096 bits; e odd and at least 3.
    package let rs256Keys: [(keyID: String, key: RSAPublicKey)]

    package static func parse(_ bytes: [UInt8]) throws(JOSEError) -> JWKSet {
        guard bytes.count <= maximumBytes else { throw .tooLarge(limit: maximumBytes) }
        return try JWKSet(JSONObject.parse(bytes, part: "key set"))
    }

    package init(_ object: JSONObject) throws(JOSEError) {
        guard let elements = object["keys"]?.arrayValue else { throw .wrongShape("the key set has no array keys") }
        guard elements.count <= Self.maximumKeys else {
            throw .refusedKeySet("it holds more than \(Self.maximumKeys) keys")
        }
        var keys: [JWK] = []
        for element in elements {
            guard let object = element.objectValue else { throw .wrongShape("an element of keys is not an object") }
            let key = JWK(object)
            if key.holdsSecret { throw .refusedKeySet("it holds a private or symmetric key") }
            if let id = key.keyID, keys.contains(where: { $0.keyID?.isExactly(id) == true }) {
                throw .refusedKeySet("two keys have one kid")
            }
            keys.append(key)
        }
        self.keys = keys
        rs256Keys = keys.compactMap { key in
            guard let id = key.keyID, let usable = try? key.rs256Key() else { return nil }
            return (id, usable)
        }
    }

    /// The key with exactly this kid. A token without a kid has none: keys are never tried one after another.
    package func key(for keyID: String) -> RSAPublicKey? { rs256Keys.first { $0.keyID.isExactly(keyID) }?.key }
}
