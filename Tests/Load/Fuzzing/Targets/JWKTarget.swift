import Coding
import Crypto

extension FuzzTarget {
    /// Key sets, as Apple's endpoint answers them.
    static let jwk = FuzzTarget(name: "jwk", maximumLength: 4096) { input throws(Finding) in
        if let key = try? JWK.parse(input) {
            _ = try? key.rs256Key()
            _ = try? key.es256Key()
            if let print = key.thumbprint { try hold(print.utf8.count == 43, "a thumbprint \(print)") }
        }
        guard let set = try? JWKSet.parse(input) else { return nil }
        try hold(set.keys.count <= JWKSet.maximumKeys, "\(set.keys.count) keys")
        try hold(set.rs256Keys.count <= set.keys.count, "more usable keys than keys")
        for key in set.rs256Keys {
            try hold(!key.keyID.isEmpty && set.key(for: key.keyID) != nil, "a key without a name")
            try hold(!key.key.verifyRS256(signature: [], message: []), "an empty signature")
        }
        try hold(Set(set.rs256Keys.map { Array($0.keyID.utf8) }).count == set.rs256Keys.count, "one kid for two keys")
        return set.keys.isEmpty ? nil : input
    }
}
