package import RelyingParty
import Synchronization

/// The keys that sign assertions, in memory, for any number of "processes" at once.
package final class MemorySigningKeys: SigningKeyStore {
    private struct State {
        var keys: [SigningKeyRecord] = []
        var failure: StoreError?
        var changes = 0
    }

    private let state = Mutex(State())

    package init(_ keys: [SigningKeyRecord] = []) {
        state.withLock { $0.keys = keys }
    }

    /// Every call fails so until nil is set.
    package func fail(with error: StoreError?) {
        state.withLock { $0.failure = error }
    }

    /// The transactions there were.
    package var changes: Int { state.withLock { $0.changes } }

    package func needsOpenIDKeys() async throws(StoreError) -> Bool { false }

    package func signingKeys() async throws(StoreError) -> [SigningKeyRecord] {
        let (keys, failure) = state.withLock { ($0.keys, $0.failure) }
        if let failure { throw failure }
        return keys
    }

    package func changeSigningKeys(
        _ change: @escaping @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord]
    ) async throws(StoreError) -> [SigningKeyRecord] {
        let (keys, failure) = state.withLock { state in
            guard state.failure == nil else { return (state.keys, state.failure) }
            state.keys = change(state.keys).sorted { ($0.signsFrom, $0.keyID) < ($1.signsFrom, $1.keyID) }
            state.changes += 1
            return (state.keys, nil)
        }
        if let failure { throw failure }
        return keys
    }
}
