internal import AppleID
internal import Coding
internal import RelyingParty
internal import Storage
internal import Web

/// What `/readyz` looks at: our own disk, our own keys, our own certificate. Whether Apple answers is not among them: a
/// server that is taken out of balance for that would sign out everybody it serves.
struct Readiness: Sendable {
    let database: Database
    let draining: DrainingFlag
    /// Nil: no assertions.
    let signingKeys: SigningKeys?
    let secrets: ClientSecretMint
    let client: ClientID
    /// Nil: plain HTTP.
    let certificate: CertificateReload?
    let clock: any WallClock

    func examine() async -> [HealthCheck] {
        var checks = [HealthCheck("draining", problem: draining.isSet ? "draining" : nil)]
        let now = clock.now()
        checks.append(await storage(at: now))
        checks.append(await sealingKey())
        if let signingKeys { checks.append(await Self.signing(signingKeys, at: now)) }
        checks.append(appleKey())
        if let certificate { checks.append(HealthCheck("certificate", problem: certificate.fault(at: now))) }
        return checks
    }

    private func storage(at now: Timestamp) async -> HealthCheck {
        // A probe would wait as long for the lock as every write does; the report of the store's trouble goes on trying.
        if let trouble = database.trouble, trouble.isLock { return Self.storage(trouble.error) }
        do {
            try await database.ready(at: now)
            return HealthCheck("storage")
        } catch {
            return Self.storage(error)
        }
    }

    private static func storage(_ error: StoreError) -> HealthCheck {
        HealthCheck(
            "storage", problem: "the database does not take writes: \(error.text); \(StoreReport.advice(for: error))")
    }

    private func sealingKey() async -> HealthCheck {
        do {
            let opens = try await database.sealingKeyFits()
            return HealthCheck(
                "sealing_key", problem: opens ? nil : "a newer sealing key than this server's is in use: restart it")
        } catch {
            return HealthCheck("sealing_key", problem: "the database cannot be read: \(error)")
        }
    }

    private static func signing(_ keys: SigningKeys, at now: Timestamp) async -> HealthCheck {
        do {
            _ = try await keys.signer(at: now)
            return HealthCheck("signing_keys")
        } catch {
            return HealthCheck("signing_keys", problem: "no key signs assertions: \(error)")
        }
    }

    private func appleKey() -> HealthCheck {
        do {
            _ = try secrets.secret(for: client)
            return HealthCheck("apple_key")
        } catch {
            return HealthCheck("apple_key", problem: "Apple's key does not sign: \(error)")
        }
    }
}
