package import Coding
package import Crypto
package import Logging
import Synchronization

/// The keys of this process that sign assertions: opened once, looked at again many times a second, so that a key
/// another process made or revoked is known here within one.
///
/// What is not looked at for a second is not believed: then the store is asked, and without its answer nobody signs.
package final class SigningKeys: Sendable {
    /// A key that may sign now.
    package struct Signer: Sendable {
        package let keyID: String
        package let key: P256PrivateKey
    }

    /// Milliseconds one look at the store is good for, in either direction of a clock that was set.
    package static let trustLifetime: Int64 = 1_000

    private struct State {
        var records: [SigningKeyRecord] = []
        var opened: [String: P256PrivateKey] = [:]
        var lookedAt: Timestamp?
        /// Looks begun, and the last of them that was taken: of two that overlap the later one stays, whatever the clock
        /// does meanwhile.
        var looksBegun: UInt64 = 0
        var lookTaken: UInt64 = 0

        var usable: Set<String> { Set(opened.keys) }

        func isTrusted(at now: Timestamp) -> Bool {
            guard let lookedAt else { return false }
            return abs(now.milliseconds - lookedAt.milliseconds) <= SigningKeys.trustLifetime
        }
    }

    package let schedule: SigningKeySchedule
    private let store: any SigningKeyStore
    private let sealer: SigningKeySealer
    private let clock: any WallClock
    private let logger: Logger
    private let state = Mutex(State())

    package init(
        store: any SigningKeyStore, keyring: SealingKeyring, schedule: SigningKeySchedule = SigningKeySchedule(),
        clock: any WallClock, logger: Logger
    ) {
        self.store = store
        self.sealer = SigningKeySealer(keyring: keyring)
        self.schedule = schedule
        self.clock = clock
        self.logger = logger
    }

    // MARK: Asking

    /// The key that signs at `now`, if that is known without asking the store.
    package func knownSigner(at now: Timestamp) -> Signer? {
        state.withLock { state in state.isTrusted(at: now) ? signer(state, at: now) : nil }
    }

    /// The key that signs at `now`. The very first one is made here if nobody was quicker.
    package func signer(at now: Timestamp) async throws(StoreError) -> Signer {
        if let signer = knownSigner(at: now) { return signer }
        try await refresh()
        if let signer = state.withLock({ signer($0, at: now) }) { return signer }
        try await maintain()
        guard let signer = state.withLock({ signer($0, at: now) }) else {
            throw .inconsistent("no signing key after one was made")
        }
        return signer
    }

    /// The public key set (RFC 7517 §5) at `now`.
    package func document(at now: Timestamp) async throws(StoreError) -> [UInt8] {
        _ = try await signer(at: now)
        let keys = state.withLock { schedule.published($0.records, at: now) }
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        writer.name("keys")
        writer.beginArray()
        for key in keys { key.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private func signer(_ state: State, at now: Timestamp) -> Signer? {
        guard let record = schedule.signer(state.records, usable: state.usable, at: now),
            let key = state.opened[record.keyID]
        else { return nil }
        return Signer(keyID: record.keyID, key: key)
    }

    // MARK: Keeping

    /// Reads what the store has now. Cheap; called a few times a second.
    package func refresh() async throws(StoreError) {
        let look = beginLook()
        take(try await store.signingKeys(), look)
    }

    /// Makes, retires and erases what is due. Called at start and every minute, by every process: the store's
    /// transaction decides who does it.
    package func maintain() async throws(StoreError) {
        let reading = beginLook()
        let found = try await store.signingKeys()
        take(found, reading)
        let spare = try spare(at: reading.time)
        let plan = plan(spare: spare, at: reading.time)
        guard plan(found) != found else { return }
        let writing = beginLook()
        let keys = try await store.changeSigningKeys(plan)
        take(keys, writing)
        for key in keys where key.keyID == spare.keyID {
            logger.info(
                "signing key made", metadata: ["key": "\(key.keyID)", "signsFrom": "\(key.signsFrom.rfc3339)"])
        }
    }

    /// Changes keys at the operator's word.
    /// - Parameter revoking: every key there is goes at once, and with it every assertion; otherwise nobody notices.
    /// - Returns: the key that signs next.
    package func rotate(revoking: Bool) async throws(StoreError) -> SigningKeyRecord? {
        let look = beginLook()
        let (schedule, now) = (schedule, look.time)
        let spare = try spare(at: now)
        take(
            try await store.changeSigningKeys { keys in
                revoking
                    ? schedule.revoked(spare: spare, at: now) : schedule.hurried(keys, spare: spare, at: now)
            }, look)
        return state.withLock { $0.records.max { $0.signsFrom < $1.signsFrom } }
    }

    private func plan(
        spare: SigningKeyRecord, at now: Timestamp
    ) -> @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord] {
        let (sealer, schedule) = (sealer, schedule)
        let opened = state.withLock(\.usable)
        return { keys in
            let usable = keys.filter { key in
                key.sealedPrivateKey != nil && (opened.contains(key.keyID) || sealer.open(key) != nil)
            }.map(\.keyID)
            return schedule.renewed(keys, usable: Set(usable), spare: spare, at: now).map(sealer.resealed)
        }
    }

    private func spare(at now: Timestamp) throws(StoreError) -> SigningKeyRecord {
        do {
            return try sealer.make(at: now)
        } catch {
            throw .inconsistent("a signing key cannot be made: \(error)")
        }
    }

    /// One look at the store: its place among the others, and the moment before it. What is written after that moment may
    /// be missing in its answer.
    private struct Look {
        var number: UInt64
        var time: Timestamp
    }

    private func beginLook() -> Look {
        let time = clock.now()
        return state.withLock { state in
            state.looksBegun += 1
            return Look(number: state.looksBegun, time: time)
        }
    }

    /// Replaces what is known; opens what is new, forgets what is gone.
    private func take(_ records: [SigningKeyRecord], _ look: Look) {
        let known = state.withLock { $0.records == records ? nil : $0.opened }
        var opened: [String: P256PrivateKey]?
        if let known {
            opened = [:]
            for record in records where record.sealedPrivateKey != nil {
                opened?[record.keyID] = known[record.keyID] ?? sealer.open(record)
                if opened?[record.keyID] == nil {
                    logger.error("a signing key does not open", metadata: ["key": "\(record.keyID)"])
                }
            }
        }
        state.withLock { state in
            guard look.number > state.lookTaken else { return }
            // The same keys as before, and another look has changed them since: the next one will tell.
            if opened == nil, state.records != records { return }
            state.lookTaken = look.number
            state.lookedAt = look.time
            state.records = records
            if let opened { state.opened = opened }
        }
    }
}
