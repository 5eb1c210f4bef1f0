internal import Coding
internal import Synchronization

/// What a sealed text is for. Each purpose has its own key, so nothing sealed for one opens as another.
package enum SealingPurpose: Hashable, Sendable {
    /// A sign-in attempt (`state`) begun in this hour since 1970: its key is used for one hour only.
    case attempt(hour: Int64)
    /// Apple's refresh token in the database.
    case refreshToken
    /// The nonce of an app's sign-in, made in this hour since 1970: its key is used for one hour only.
    case nativeChallenge(hour: Int64)
    /// The private key for assertions, in the database.
    case signingKey
    /// Anything else, by its own name.
    case other(String)

    /// Distinct for distinct purposes.
    var label: String {
        switch self {
        case .attempt(let hour): "attempt/\(hour)"
        case .refreshToken: "refresh-token"
        case .nativeChallenge(let hour): "native-challenge/\(hour)"
        case .signingKey: "signing-key"
        case .other(let name): "other/\(name)"
        }
    }
}

/// 256 bits from which the key of every purpose is derived (HKDF-SHA256).
package struct SealingKey: Sendable {
    package static let materialCount = 32

    private static let scheme = "bramley sealing 1"

    /// Identifies the key in what it seals: 8 hexadecimal digits of a keyed hash, which reveal nothing about it.
    package let id: String
    /// The same as 4 bytes.
    let idBytes: [UInt8]
    private let material: SecretBytes
    private let derived: DerivedKeys

    /// - Parameter material: exactly `materialCount` unpredictable bytes; the caller has validated a file's.
    package init(material: SecretBytes) {
        precondition(material.count == Self.materialCount, "A sealing key has \(Self.materialCount) bytes.")
        self.material = material
        let hash = HMACSHA256.authenticate(key: material, message: Array("\(Self.scheme) id".utf8))
        idBytes = Array(hash.prefix(4))
        id = Hexadecimal.encode(idBytes)
        derived = DerivedKeys()
    }

    package static func generate() -> SealingKey { SealingKey(material: .random(count: materialCount)) }

    /// - Parameter keeping: whether to remember the key for the next call. Only for purposes that no request chooses,
    ///   because each would evict another.
    func key(for purpose: SealingPurpose, keeping: Bool) -> SecretBytes {
        if let known = derived[purpose] { return known }
        let info = Array("\(Self.scheme)/\(purpose.label)".utf8)
        let key = HKDF.deriveKey(from: material, salt: [], info: info, count: AES256GCM.keyCount)
        if keeping { derived.insert(key, for: purpose) }
        return key
    }
}

/// The last few derived keys, so that sealing need not derive each time.
private final class DerivedKeys: Sendable {
    private static let capacity = 8
    private let entries = Mutex<[(purpose: SealingPurpose, key: SecretBytes)]>([])

    subscript(purpose: SealingPurpose) -> SecretBytes? {
        entries.withLock { entries in entries.first { $0.purpose == purpose }?.key }
    }

    func insert(_ key: SecretBytes, for purpose: SealingPurpose) {
        entries.withLock { entries in
            if entries.count == Self.capacity { entries.removeFirst() }
            entries.append((purpose, key))
        }
    }
}
