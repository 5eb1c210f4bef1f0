import Coding
import Crypto

/// Limits wrong passwords and codes for one account, whether or not the account exists, on all machines together. Kept
/// by a keyed hash of the name: no name is stored.
struct UsernameLimit: Sendable {
    private let maximum: Int
    private let keyring: SealingKeyring
    private let store: any LinkStore

    init(maximum: Int, keyring: SealingKeyring, store: any LinkStore) {
        self.maximum = max(1, maximum)
        self.keyring = keyring
        self.store = store
    }

    /// A name, as it is counted.
    func key(of username: String) -> Digest256 {
        let hash = keyring.keyedHash(of: CountedName(username).bytes, purpose: .other("username-limit"))
        return Digest256(bytes: hash) ?? Digest256(words: (0, 0, 0, 0))
    }

    /// Counts a try before it is made.
    /// - Returns: its moment, by which it can be restored.
    /// - Throws: `.tooMany` with the seconds until one may be made.
    func consume(_ key: Digest256, at now: Timestamp) async throws(LinkFailure) -> Timestamp {
        let counted = try await LinkFailure.mapping(
            await store.countTry(of: key, maximum: maximum, at: now))
        switch counted {
        case .counted(let moment): return moment
        case .refused(let end):
            throw .tooMany(retryAfter: max(1, (end.milliseconds - now.milliseconds + 999) / 1_000))
        }
    }

    /// Restores a try that was not wrong, or that nobody answered.
    func restore(_ key: Digest256, of moment: Timestamp) async throws(LinkFailure) {
        try await LinkFailure.mapping(await store.restoreTry(of: key, at: moment))
    }
}
