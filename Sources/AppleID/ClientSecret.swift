import Coding
package import Crypto
import RelyingParty

/// The key of a .p8 file with its key ID.
package struct ClientSecretKey: Sendable {
    package let id: String
    let key: P256PrivateKey

    package init(id: String, key: P256PrivateKey) {
        self.id = id
        self.key = key
    }

    /// Whether both are one key under one ID.
    func isSame(as other: ClientSecretKey) -> Bool {
        id.isExactly(other.id) && holdsSameKey(as: other)
    }

    /// Whether both hold one key, whatever they are called.
    package func holdsSameKey(as other: ClientSecretKey) -> Bool {
        guard let ours = key.publicKey.coordinates, let theirs = other.key.publicKey.coordinates else { return false }
        return ours == theirs
    }
}

/// The keys Apple knows us by: one, or two while one takes over from the other. Apple allows two at a time.
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

    /// Tells them from others: of their IDs and public keys.
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
    /// Whose it is, and what signed it: `ClientSecretMint` is told by it how Apple took the secret.
    let client: ClientID
    let role: ClientSecretKeys.Role
    /// Of the mint's keys; another once a key was replaced.
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
