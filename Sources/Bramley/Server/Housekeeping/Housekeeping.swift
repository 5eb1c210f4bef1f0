internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Logging
internal import Sockets
internal import Storage

// The work besides requests: what runs how often, all on one loop. Each row is a task of its own where it may wait for
// the database or for Apple. Ends when the loop drains; what is left then is in the database.
extension ServerParts {
    func startHousekeeping(on loop: EventLoop) {
        let (clock, logger) = (runtime.clock, runtime.logger)
        // Other processes' writes.
        loop.spawn { [self] in
            await loop.every(250) { database.store.tick(at: clock.now()) }
        }
        loop.spawn { [self] in await lookAtSigningKeys(on: loop) }
        loop.spawn { [self] in
            await webhookDispatcher.run { await loop.sleep(until: loop.now.adding(milliseconds: 250)) }
        }
        loop.spawn { [credentialChecks, draining] in
            await credentialChecks.run {
                await loop.sleep(until: loop.now.adding(milliseconds: 250)) && !draining.isSet
            }
        }
        let watch = ClockWatch(wall: clock.now(), now: .now, logger: logger)
        loop.spawn { [self] in await lookAtConnections(on: loop, watch) }
        loop.spawn { [self] in
            await loop.every(1_000, startsNow: false) { await lookAtFiles() }
        }
        loop.spawn { [self] in
            var changes = KeyChanges(base, reload)
            await loop.every(1_000, startsNow: false) { await changes.check() }
        }
        loop.spawn { [self] in
            var report = StoreReport(isShared: database.store.isShared, logger: logger)
            await loop.every(1_000) { await report.check(database.store, at: clock.now(), now: loop.now) }
        }
        // Deleted accounts: one look-up by index.
        loop.spawn { [self] in
            await loop.every(1_000) { await revocations.round(while: { !draining.isSet }) }
            await revocations.stop()
        }
        loop.spawn { [self] in
            await loop.every(60_000) { await maintainSigningKeys() }
        }
        loop.spawn { [self] in
            // People whom an update found without an index need not wait for the first round.
            _ = try? await database.indexPeople()
            await loop.every(60_000, startsNow: false) { await maintain(watch) }
        }
        if let operatorReport {
            loop.spawn {
                await loop.every(60_000) { await operatorReport.write() }
                await operatorReport.write()
            }
        }
        // So that the first sign-in does not wait for Apple's keys, and one while Apple is down has some. Apple may
        // become reachable after this server starts: it is asked until it answers.
        loop.spawn { [provider] in await provider.keys.prepare() }
    }

    /// What waits for nothing: the clock, connections and memory.
    private func lookAtConnections(on loop: EventLoop, _ watch: ClockWatch) async {
        var room = DescriptorRoom(wanted: configuration.server.limits.connections, logger: runtime.logger)
        room.prepare()
        var report = AdmissionReport(logger: runtime.logger)
        var memory = MemoryReturn()
        await loop.every(1_000) {
            watch.check(wall: runtime.clock.now(), now: .now)
            room.check(at: admission, beside: adminAdmission.total)
            report.check(at: admission.tally, now: loop.now)
            signIn.dropExpiredAnswers()
            memory.check(at: visitorSettings.memory, connections: admission.total, loops: group.loops)
        }
    }

    /// The files of signing secrets, and of the certificate.
    private func lookAtFiles() async {
        for file in webhookSecrets where file.check() {
            do throws(Failure) {
                try await database.record(
                    .webhookSecretChanged, user: nil, object: file.key, at: runtime.clock.now())
            } catch {
                // It has already happened: a line that cannot be written is no reason to undo it.
                runtime.logger.auditFailed(.webhookSecretChanged, file.key, error)
            }
        }
        reload.certificate?.check()
        // Handshakes also drop them; without any, the oldest would stay in memory.
        visitorSettings.tls?.ticketKeys.dropExpired()
    }

    /// Notices other processes' changes of the keys for assertions and ID tokens.
    private func lookAtSigningKeys(on loop: EventLoop) async {
        var isFailing = false
        await loop.every(250, startsNow: false) {
            guard signingKeys.areInUse else { return }
            do {
                try await signingKeys.refresh()
                isFailing = false
            } catch {
                // Logged once, not four times a second.
                if !isFailing { runtime.logger.error("signing keys not readable", metadata: ["cause": "\(error)"]) }
                isFailing = true
            }
        }
    }

    /// Makes the first key at once and later ones when due.
    private func maintainSigningKeys() async {
        do {
            try await signingKeys.maintain()
        } catch {
            runtime.logger.error("signing keys not renewed", metadata: ["cause": "\(error)"])
        }
    }

    /// Deletes what has expired, by a watched clock. Says how far it is while there is much to delete, as after a
    /// retention was shortened.
    private func maintain(_ watch: ClockWatch) async {
        var (rows, toldAt) = (0, ContinuousClock.now)
        do {
            _ = try await database.indexPeople()
            _ = try await database.maintain(at: watch.check(wall: runtime.clock.now(), now: .now)) { count in
                rows += count
                guard ContinuousClock.now - toldAt >= .seconds(10) else { return }
                toldAt = .now
                runtime.logger.info("expired rows being deleted", metadata: ["rows": "\(rows)"])
            }
        } catch {
            runtime.logger.error("expired rows not deleted", metadata: ["cause": "\(error)"])
        }
    }
}

extension EventLoop {
    /// Calls `act` again and again, with a pause in between, until the loop drains.
    /// - Parameters:
    ///   - milliseconds: the pause.
    ///   - startsNow: whether the first call is before the first pause.
    func every(_ milliseconds: Int64, startsNow: Bool = true, _ act: () async -> Void) async {
        if startsNow { await act() }
        while await sleep(until: now.adding(milliseconds: milliseconds)) { await act() }
    }
}

extension Logger {
    /// A line of the audit log was not written.
    func auditFailed(_ kind: AuditEntry.Kind, _ object: String, _ failure: Failure) {
        error(
            "audit log write failed",
            metadata: ["type": "\(kind.rawValue)", "object": "\(object)", "cause": "\(failure)"])
    }
}
