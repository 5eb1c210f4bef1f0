import Accounts
import Coding
package import Crypto

/// The key of a .p8 file with its key ID.
package struct ClientSecretKey: Sendable {
    package let id: String
    let key: P256PrivateKey

    package init(id: String, key: P256PrivateKey) {
        self.id = id
        self.key = key
    }

    /// Whether both are the same key with the same ID.
    func isSame(as other: ClientSecretKey) -> Bool {
        id.isExactly(other.id) && holdsSameKey(as: other)
    }

    /// Whether both are the same key, whatever their IDs.
    package func holdsSameKey(as other: ClientSecretKey) -> Bool {
        guard let ours = key.publicKey.coordinates, let theirs = other.key.publicKey.coordinates else { return false }
        return ours == theirs
    }
}

/// The keys registered at Apple: one, or two during a rotation. Apple allows two at a time.
package struct ClientSecretKeys: Sendable {
    /// Which of the two.
    package enum Role: Hashable, Sendable {
        case current, next
    }

    /// `apple.keyID`.
    package var current: ClientSecretKey
    /// `apple.nextKeyID`, if there is one.
    package var next: ClientSecretKey?

    package init(current: ClientSecretKey, next: ClientSecretKey? = nil) {
        self.current = current
        self.next = next
    }

    /// Identifies the keys: a digest of their IDs and public keys.
    package var fingerprint: Digest256 {
        let parts = [current, next].compactMap(\.self).map { key in
            let coordinates = key.key.publicKey.coordinates
            return "\(key.id) \(Hexadecimal.encode((coordinates?.x ?? []) + (coordinates?.y ?? [])))"
        }
        return SHA256.hash(utf8: parts.joined(separator: "\n"))
    }

    subscript(role: Role) -> ClientSecretKey? {
        switch role {
        case .current: current
        case .next: next
        }
    }

    func isSame(as other: ClientSecretKeys) -> Bool {
        guard current.isSame(as: other.current) else { return false }
        return switch (next, other.next) {
        case (nil, nil): true
        case (let ours?, let theirs?): ours.isSame(as: theirs)
        default: false
        }
    }
}

/// A signed client secret, ready for a form. Prints `<redacted>`.
package struct ClientSecret: Redacted {
    private let compactJWT: String
    /// The client and key, so that `ClientSecretMint` can record how Apple took the secret.
    let client: ClientID
    let role: ClientSecretKeys.Role
    /// Of the mint's keys; changes when a key is replaced.
    let generation: UInt64

    init(_ compactJWT: String, client: ClientID, role: ClientSecretKeys.Role, generation: UInt64) {
        self.compactJWT = compactJWT
        self.client = client
        self.role = role
        self.generation = generation
    }

    /// The compact JWT; only for the body of a request to Apple.
    package func reveal() -> String { compactJWT }
}
