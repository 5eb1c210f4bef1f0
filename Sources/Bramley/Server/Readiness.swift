internal import Accounts
internal import AppleID
internal import Coding
internal import Storage
internal import Web

/// The checks of `/readyz`: our own disk, keys and certificate, and, as a warning, whose notifications are accepted.
/// Apple is not included: taking a server out of rotation because Apple is down would sign everyone out.
struct Readiness: Sendable {
    let base: ServerBase
    let signingKeys: SigningKeys
    let secrets: ClientSecretMint
    let certificate: CertificateReload?
    let notifications: Notifications

    private var database: Database { base.database }

    /// Whoever asks gives up soon: a server that cannot answer in time is not ready either.
    func examine() async -> [HealthCheck] { await StorePatience.within(.seconds(1)) { await examineAll() } }

    private func examineAll() async -> [HealthCheck] {
        let now = base.runtime.clock.now()
        var checks = [
            HealthCheck("draining", problem: base.draining.isSet ? "draining" : nil), await storage(at: now),
            await check(
                "sealing_key", otherwise: "the database has a newer sealing key: copy it here as sealing.key.next",
                database.store.sealingKeyFits),
            await check(
                "schema", otherwise: "a newer Bramley has changed the database: update this server",
                database.store.schemaFits),
        ]
        if database.store.isShared {
            let problem = Doctor.clockProblem(database.store.clockDifference)
            checks.append(HealthCheck("clock", problem: problem.map { "\($0): run a time service on both machines" }))
        }
        if let check = await signing(at: now) { checks.append(check) }
        checks.append(appleKey())
        if let certificate { checks.append(HealthCheck("certificate", problem: certificate.fault(at: now))) }
        checks.append(HealthCheck("notifications", warning: notificationWarning))
        return checks
    }

    /// Sign-ins work without them, so the server stays in rotation.
    private var notificationWarning: String? {
        let refused = notifications.unlistedAudiences()
        if let last = refused.map(\.at).max() {
            let apps = refused.map { "\($0.audience) (\($0.count))" }.joined(separator: ", ")
            return
                "Apple's notifications were refused, the last one at \(last.rfc3339): apple.bundleIDs does not list \(apps)"
        }
        guard base.configuration.apple.bundleIDs.isEmpty else { return nil }
        return "Apple's notifications will be refused: apple.bundleIDs does not list the primary App ID's bundle ID"
    }

    private func storage(at now: Timestamp) async -> HealthCheck {
        // A probe would wait for the lock, or for PostgreSQL, as long as every write; the store's report continues to try.
        if let obstacle = database.store.knownObstacle { return storage(obstacle) }
        do {
            try await database.store.ready(at: now)
            return HealthCheck("storage")
        } catch {
            return storage(error)
        }
    }

    private func storage(_ error: StoreError) -> HealthCheck {
        let advice = StoreReport.advice(for: error, isShared: database.store.isShared)
        return HealthCheck("storage", problem: "the database does not accept writes: \(error.text); \(advice)")
    }

    private func check(
        _ name: String, otherwise problem: String, _ fits: () async throws(StoreError) -> Bool
    ) async -> HealthCheck {
        do {
            return HealthCheck(name, problem: try await fits() ? nil : problem)
        } catch {
            return HealthCheck(name, problem: "the database cannot be read: \(error.text)")
        }
    }

    private func signing(at now: Timestamp) async -> HealthCheck? {
        do {
            let algorithms = try await signingKeys.algorithmsInUse()
            for algorithm in algorithms { _ = try await signingKeys.signer(algorithm, at: now) }
            return algorithms.isEmpty ? nil : HealthCheck("signing_keys")
        } catch {
            return HealthCheck("signing_keys", problem: "no signing key for assertions or ID tokens: \(error)")
        }
    }

    private func appleKey() -> HealthCheck {
        do {
            _ = try secrets.secret(for: ClientID(base.configuration.apple.servicesID))
            let keys = secrets.experiences.map { known -> JSONObject in
                [
                    "client": .string(known.client.rawValue), "key": .string(known.keyID),
                    "acceptedAt": known.acceptedAt.map { .string($0.rfc3339) } ?? .null,
                    "refusedAt": known.refusedAt.map { .string($0.rfc3339) } ?? .null,
                ]
            }
            return HealthCheck("apple_key", keys: keys)
        } catch {
            return HealthCheck("apple_key", problem: "the Apple key cannot sign: \(error)")
        }
    }
}
