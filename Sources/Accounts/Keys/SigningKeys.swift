package import Coding
package import Crypto
import Logging
package import Storage
import Synchronization

/// This process's keys for assertions and ID tokens: opened once and refreshed several times a second, so that a key that
/// another process made or revoked is known here within one second. Keys that were not refreshed for a second are not
/// trusted: then the store is asked, and without its answer nothing is signed.
package final class SigningKeys: Sendable {
    /// A key that may sign now.
    package struct Signer: Sendable {
        package let keyID: String
        package let key: JWTSigningKey
    }

    /// How long one refresh is trusted, in milliseconds, also by a clock that was set back.
    package static let trustLifetime: Int64 = 1_000

    private struct State {
        var records: [SigningKeyRecord] = []
        var opened: [String: JWTSigningKey] = [:]
        var refreshedAt: Timestamp?
        /// Refreshes begun, and the last one adopted: of two that overlap the later wins, whatever the clock says.
        var refreshesBegun: UInt64 = 0
        var refreshAdopted: UInt64 = 0

        var usable: Set<String> { Set(opened.keys) }

        func records(_ algorithm: SigningAlgorithm) -> [SigningKeyRecord] {
            records.filter { $0.algorithm == algorithm }
        }

        func isTrusted(at now: Timestamp) -> Bool {
            guard let refreshedAt else { return false }
            return abs(now.milliseconds - refreshedAt.milliseconds) <= SigningKeys.trustLifetime
        }
    }

    package let schedule: SigningKeySchedule
    /// The algorithms that audiences of assertions use; each has its own keys, as ID tokens have.
    package let algorithms: [SigningAlgorithm]
    private let database: Database
    private let keyring: SealingKeyring
    private let runtime: Runtime
    private let state = Mutex(State())

    package init(
        database: Database, keyring: SealingKeyring, algorithms: [SigningAlgorithm] = [.es256],
        schedule: SigningKeySchedule = SigningKeySchedule(), runtime: Runtime
    ) {
        self.database = database
        self.keyring = keyring
        self.algorithms = algorithms
        self.schedule = schedule
        self.runtime = runtime
    }

    private var logger: Logger { runtime.logger }

    // MARK: Signing and verifying

    /// The key that signs at `now`, if it is known without asking the store.
    package func knownSigner(_ algorithm: SigningAlgorithm = .es256, at now: Timestamp) -> Signer? {
        state.withLock { state in state.isTrusted(at: now) ? signer(algorithm, state, at: now) : nil }
    }

    /// The key that signs at `now`. Makes the very first key unless another process did.
    package func signer(_ algorithm: SigningAlgorithm = .es256, at now: Timestamp) async throws(Failure) -> Signer {
        if let signer = knownSigner(algorithm, at: now) { return signer }
        // Another task's refresh, which read before the write, may be adopted instead; so a second one follows.
        let steps: [() async throws(Failure) -> Void] = [refresh, maintain, refresh]
        for step in steps {
            try await step()
            if let signer = state.withLock({ signer(algorithm, $0, at: now) }) { return signer }
        }
        throw Failure(.unavailable, "no signing key after one was created")
    }

    /// The public key set (RFC 7517 §5) at `now`; nil when nothing is signed. While the store fails, the last known one: a
    /// key is published a day before it signs.
    package func document(at now: Timestamp) async throws(Failure) -> [UInt8]? {
        do throws(Failure) {
            let inUse = try await StorePatience.within(Self.refreshTimeout) { () async throws(Failure) in
                let algorithms = try await algorithmsInUse()
                for algorithm in algorithms { _ = try await signer(algorithm, at: now) }
                return algorithms
            }
            if inUse.isEmpty { return nil }
        } catch {
            guard !published(at: now).isEmpty else { throw error }
        }
        return JSONWriter.encode(["keys": .array(published(at: now).map { .object($0.jwk) })] as JSONObject)
    }

    private static let refreshTimeout = Duration.seconds(1)

    private func published(at now: Timestamp) -> [SigningKeyRecord] {
        state.withLock { state in
            SigningAlgorithm.allCases.flatMap { schedule.published(state.records($0), at: now) }
        }
    }

    /// An RSA key, by its ID, to verify what one of ours has signed: published, or retired not too long ago.
    package func publicKey(_ keyID: String, at now: Timestamp) async throws(Failure) -> RSAPublicKey? {
        // Creates no key: without one, nothing was signed that could be verified.
        if !state.withLock({ $0.isTrusted(at: now) }) { try await refresh() }
        let keys = state.withLock { schedule.verifying($0.records(.rs256), at: now) }
        guard case .rsa(let modulus, let exponent)? = keys.first(where: { $0.keyID.isExactly(keyID) })?.publicHalf
        else { return nil }
        return try? RSAPublicKey(modulus: modulus, exponent: exponent)
    }

    private func signer(_ algorithm: SigningAlgorithm, _ state: State, at now: Timestamp) -> Signer? {
        guard let record = schedule.signer(state.records(algorithm), usable: state.usable, at: now),
            let key = state.opened[record.keyID]
        else { return nil }
        return Signer(keyID: record.keyID, key: key)
    }

    // MARK: Maintenance

    /// The algorithms that audiences use, and RS256 once an OpenID Connect client is registered.
    package func algorithmsInUse() async throws(Failure) -> [SigningAlgorithm] {
        guard !algorithms.contains(.rs256), try await database.needsOpenIDKeys() else { return algorithms }
        return algorithms + [.rs256]
    }

    /// Whether there is anything to refresh; without keys a signer is read when it is needed.
    package var areInUse: Bool { !algorithms.isEmpty || state.withLock { !$0.records.isEmpty } }

    /// Reads the store's keys. Cheap; called a few times a second.
    package func refresh() async throws(Failure) {
        let refresh = beginRefresh()
        adopt(try await database.signingKeys(), refresh)
    }

    /// Makes, retires and erases due keys, at start and every minute; a transaction decides which process acts.
    package func maintain() async throws(Failure) {
        let reading = beginRefresh()
        let found = try await database.signingKeys()
        adopt(found, reading)
        let usable = state.withLock(\.usable)
        let algorithms = try await algorithmsInUse()
        var spares: [SigningAlgorithm: SigningKeyRecord] = [:]
        for algorithm in algorithms {
            let keys = found.filter { $0.algorithm == algorithm }
            guard schedule.missing(keys, usable: usable, at: reading.time) != nil else { continue }
            spares[algorithm] = try await spare(algorithm, at: reading.time)
        }
        let plan = plan(algorithms, spares, at: reading.time)
        guard plan(found) != found else { return }
        let writing = beginRefresh()
        let keys = try await database.changeSigningKeys(plan)
        adopt(keys, writing)
        for key in keys where key.keyID == spares[key.algorithm]?.keyID {
            logger.info(
                "signing key created",
                metadata: [
                    "key": "\(key.keyID)", "algorithm": "\(key.algorithm.rawValue)",
                    "signsFrom": "\(key.signsFrom.rfc3339)",
                ])
        }
    }

    /// Rotates keys at the operator's request, and returns for each algorithm the key that signs next.
    /// - Parameter revoking: drops every present key at once, and with them every assertion.
    package func rotate(revoking: Bool) async throws(Failure) -> [SigningKeyRecord] {
        let refresh = beginRefresh()
        let (schedule, now) = (schedule, refresh.time)
        let algorithms = try await algorithmsInUse()
        var fresh: [SigningAlgorithm: SigningKeyRecord] = [:]
        for algorithm in algorithms { fresh[algorithm] = try await spare(algorithm, at: now) }
        let spares = fresh
        adopt(
            try await database.changeSigningKeys { keys in
                SigningKeySchedule.ordered(
                    SigningAlgorithm.allCases.flatMap { algorithm in
                        let keys = keys.filter { $0.algorithm == algorithm }
                        guard let spare = spares[algorithm] else { return revoking ? [] : keys }
                        return revoking
                            ? schedule.revoked(spare: spare, at: now) : schedule.hurried(keys, spare: spare, at: now)
                    })
            }, refresh)
        return state.withLock { state in
            algorithms.compactMap { state.records($0).max { $0.signsFrom < $1.signsFrom } }
        }
    }

    private func plan(
        _ algorithms: [SigningAlgorithm], _ spares: [SigningAlgorithm: SigningKeyRecord], at now: Timestamp
    ) -> @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord] {
        let (keyring, schedule) = (keyring, schedule)
        let opened = state.withLock(\.usable)
        return { keys in
            let usable = Set(
                keys.filter { key in
                    key.sealedPrivateKey != nil && (opened.contains(key.keyID) || keyring.open(key) != nil)
                }.map(\.keyID))
            let wanted = SigningAlgorithm.allCases.flatMap { algorithm in
                let keys = keys.filter { $0.algorithm == algorithm }
                return algorithms.contains(algorithm)
                    ? schedule.renewed(keys, usable: usable, spare: spares[algorithm], at: now)
                    : schedule.runOut(keys, at: now)
            }
            return SigningKeySchedule.ordered(wanted.map(keyring.resealed))
        }
    }

    private func spare(_ algorithm: SigningAlgorithm, at now: Timestamp) async throws(Failure) -> SigningKeyRecord {
        let keyring = keyring
        // The search for primes would block an event loop.
        let made = await withTaskExecutorPreference(globalConcurrentExecutor) {
            Result { () throws(KeyError) in try keyring.makeSigningKey(algorithm, at: now) }
        }
        switch made {
        case .success(let record): return record
        case .failure(let error): throw Failure(.unavailable, "a signing key cannot be created: \(error)")
        }
    }

    /// One read of the store: its number, and the time before it began; later writes may be missing.
    private typealias Refresh = (number: UInt64, time: Timestamp)

    private func beginRefresh() -> Refresh {
        let time = runtime.clock.now()
        return state.withLock { state in
            state.refreshesBegun += 1
            return (state.refreshesBegun, time)
        }
    }

    private func adopt(_ records: [SigningKeyRecord], _ refresh: Refresh) {
        let known = state.withLock { $0.records == records ? nil : $0.opened }
        var opened: [String: JWTSigningKey]?
        if let known {
            opened = [:]
            for record in records where record.sealedPrivateKey != nil {
                opened?[record.keyID] = known[record.keyID] ?? keyring.open(record)
                if opened?[record.keyID] == nil {
                    logger.error("signing key cannot be unsealed", metadata: ["key": "\(record.keyID)"])
                }
            }
        }
        state.withLock { state in
            guard refresh.number > state.refreshAdopted else { return }
            // The keys are unchanged, but another refresh has been adopted since; the next one decides.
            if opened == nil, state.records != records { return }
            state.refreshAdopted = refresh.number
            state.refreshedAt = refresh.time
            state.records = records
            if let opened { state.opened = opened }
        }
    }
}
