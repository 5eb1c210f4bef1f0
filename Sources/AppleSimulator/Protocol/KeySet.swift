import Coding

/// The keys of `GET /auth/keys`, and how the set is published.
struct KeySet: Sendable {
    /// Shapes of the published set, good and bad.
    enum Mode: String, Sendable, CaseIterable {
        case normal
        case empty
        /// The signing key is missing from the set: its kid is unknown.
        case withoutSigningKey
        case duplicateKid
        /// Besides the RSA keys an EC key, an Ed25519 key, an encryption key and one of an unknown type.
        case mixedTypes
        case otherTypes
    }

    struct Entry: Sendable {
        var kid: String
        var key: RSASigningKey
    }

    /// The newest first; the first one signs, and there is always one.
    private(set) var entries: [Entry]
    /// Public keys of somebody else, published with ours.
    var foreign: [JSON] = []
    var mode = Mode.normal
    /// How often the set was rotated; changes the order of the published array.
    private(set) var rotations = 0

    init(_ entries: [Entry]) { self.entries = entries }

    var signing: Entry { entries[0] }

    /// Rotates to a new key; at most five are kept, so old ones stay for a while.
    mutating func rotate(to entry: Entry) {
        entries.insert(entry, at: 0)
        if entries.count > 5 { entries.removeLast() }
        rotations += 1
    }

    mutating func dropOld() { entries = [signing] }

    /// The kid is 10 characters of Apple's alphabet.
    static func makeKid(_ randomBytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB".utf8)
        return String(decoding: randomBytes.map { alphabet[Int($0 & 63)] }, as: UTF8.self)
    }

    var published: JSON {
        let all = entries.map { Self.jwk($0.key, kid: $0.kid) }
        switch mode {
        case .normal: return ["keys": .array(turned(all) + foreign)]
        case .empty: return ["keys": []]
        case .withoutSigningKey: return ["keys": .array(turned(Array(all.dropFirst())))]
        case .duplicateKid: return ["keys": .array(all + [Self.jwk(entries[entries.count - 1].key, kid: signing.kid)])]
        case .mixedTypes: return ["keys": .array(Self.strangers + turned(all) + foreign)]
        case .otherTypes: return ["keys": .array(Self.strangers)]
        }
    }

    /// The order of the array has no meaning, and Apple's changes, so ours does too.
    private func turned(_ keys: [JSON]) -> [JSON] {
        guard !keys.isEmpty else { return [] }
        let start = rotations % keys.count
        return Array(keys[start...] + keys[..<start])
    }

    private static func jwk(_ key: RSASigningKey, kid: String) -> JSON {
        [
            "kty": "RSA", "kid": .string(kid), "use": "sig", "alg": "RS256",
            "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
        ]
    }

    /// Well-formed keys that no RS256 verifier may choose. The points are those of RFC 7517 A.1 and RFC 8037 A.2.
    private static let strangers: [JSON] = [
        [
            "kty": "EC", "kid": "ECSTRANGER", "use": "sig", "alg": "ES256", "crv": "P-256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        ],
        ["kty": "OKP", "kid": "OKSTRANGER", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
        [
            "kty": "RSA", "kid": "ENCRYPTION", "use": "enc", "alg": "RSA-OAEP",
            "n": "sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOo", "e": "AQAB",
        ],
        ["kty": "AKP", "kid": "NEWLYMADE1", "alg": "ML-DSA-44", "pub": "AAAA"],
    ]
}
