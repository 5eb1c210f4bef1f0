internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Logging
internal import Sockets
internal import Storage
internal import Web

// The work besides requests, all on one loop until it drains; each is a task that may wait for the database or Apple.
extension ServerParts {
    func startHousekeeping(on loop: EventLoop) {
        let (clock, logger) = (runtime.clock, runtime.logger)
        // Other processes' writes.
        loop.spawn { [self] in await loop.every(250) { database.store.tick(at: clock.now()) } }
        loop.spawn { [self] in await watchSigningKeys(on: loop) }
        loop.spawn { [self] in
            await webhookDispatcher.run { await loop.sleep(until: loop.now.adding(milliseconds: 250)) }
        }
        loop.spawn { [credentialChecks, draining] in
            await credentialChecks.run {
                await loop.sleep(until: loop.now.adding(milliseconds: 250)) && !draining.isSet
            }
        }
        let watch = ClockWatch(wall: clock.now(), now: .now, logger: logger)
        loop.spawn { [self] in await watchConnections(on: loop, watch) }
        loop.spawn { [self] in await loop.every(1_000, startsNow: false) { await checkFiles() } }
        loop.spawn { [self] in await auditFiles(on: loop) }
        loop.spawn { [self] in await watchDocumentHosts(on: loop) }
        loop.spawn { [base] in
            var keys = SealingKeyReload(base)
            await loop.every(1_000, startsNow: false) { await keys.check() }
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
        loop.spawn { [self] in await loop.every(60_000) { await maintainSigningKeys() } }
        loop.spawn { [self] in
            // People whom an update found without an index need not wait for the first round.
            _ = try? await database.indexPeople(progress: stopIfDraining)
            await loop.every(60_000, startsNow: false) { await maintain(watch) }
        }
        if let operatorReport {
            loop.spawn {
                await loop.every(60_000) { await operatorReport.write() }
                await operatorReport.write(isLast: true)
            }
        }
        if let console {
            // So that the operator's page has what doctor finds.
            loop.spawn { [self] in
                await loop.every(600_000) {
                    if console.isExaminationDue(at: clock.now()) { await examine(console, on: loop) }
                }
            }
        }
        // So that the first sign-in does not wait for Apple's keys; Apple is asked until it answers.
        loop.spawn { [provider] in await provider.keys.prepare() }
    }

    /// Ends early when the loop drains: it may wait for servers that do not answer.
    private func examine(_ console: OperatorConsole, on loop: EventLoop) async {
        let now = runtime.clock.now()
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) { await console.examination(at: now) }
            group.addTask(executorPreference: loop) {
                while !Task.isCancelled, await loop.sleep(until: loop.now.adding(milliseconds: 250)) {}
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func watchConnections(on loop: EventLoop, _ watch: ClockWatch) async {
        var connections = AdmissionWatch(wanted: configuration.server.limits.connections, logger: runtime.logger)
        connections.prepare()
        var memory = MemoryReturn()
        await loop.every(1_000) {
            watch.check(wall: runtime.clock.now(), now: .now)
            connections.check(at: admission, beside: adminAdmission.total)
            connections.report(admission.tally, now: loop.now)
            signIn.dropExpiredAnswers()
            memory.check(at: visitorSettings.memory, connections: admission.total, loops: group.loops)
        }
    }

    private func checkFiles() async {
        for file in webhookSecrets where file.check() {
            do throws(Failure) {
                try await database.record(.webhookSecretChanged, user: nil, object: file.key, at: runtime.clock.now())
            } catch {
                // It has already happened: a line that cannot be written is no reason to undo it.
                runtime.logger.auditFailed(.webhookSecretChanged, file.key, error)
            }
        }
        reload.certificate?.check()
        // Handshakes also drop them; without any, the oldest would stay in memory.
        visitorSettings.tls?.ticketKeys.dropExpired()
    }

    private func watchSigningKeys(on loop: EventLoop) async {
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

    /// Ends what clients hold whose document's host is no longer allowed, also since the last start.
    private func watchDocumentHosts(on loop: EventLoop) async {
        var done: [String]?
        var isFailing = false
        await loop.every(250) {
            let hosts = documents.hosts
            guard hosts != done else { return }
            do throws(Failure) {
                try await AuditActor.$current.withValue(.operator) {
                    await Result { () async throws(Failure) in
                        try await database.endDocumentClients(outside: hosts, at: runtime.clock.now())
                    }
                }.get()
                (done, isFailing) = (hosts, false)
            } catch {
                // Tried again at the next check; logged once.
                if !isFailing {
                    runtime.logger.error("clients of removed hosts not ended", metadata: ["cause": "\(error)"])
                }
                isFailing = true
            }
        }
    }

    private func maintainSigningKeys() async {
        do {
            try await signingKeys.maintain()
        } catch {
            runtime.logger.error("signing keys not renewed", metadata: ["cause": "\(error)"])
        }
    }

    /// Deletes what has expired, by a watched clock, and logs its progress, as after a retention was shortened.
    private func maintain(_ watch: ClockWatch) async {
        var (rows, reportedAt) = (0, ContinuousClock.now)
        do {
            _ = try await database.indexPeople(progress: stopIfDraining)
            let now = watch.check(wall: runtime.clock.now(), now: .now)
            _ = try await database.maintain(at: now) { count throws(Failure) in
                try stopIfDraining(count)
                rows += count
                guard ContinuousClock.now - reportedAt >= .seconds(10) else { return }
                reportedAt = .now
                runtime.logger.info("expired rows being deleted", metadata: ["rows": .stringConvertible(rows)])
            }
        } catch {
            // The next process continues.
            if draining.isSet { return }
            runtime.logger.error("expired rows not deleted", metadata: ["cause": "\(error)"])
        }
    }

    /// Ends work in many transactions when the server stops, so that no stop waits for it.
    private func stopIfDraining(_: Int) throws(Failure) {
        if draining.isSet { throw Failure(.unavailable, "the server is stopping") }
    }
}

extension EventLoop {
    /// Calls `act` with a pause of `milliseconds` in between, until the loop drains.
    func every(_ milliseconds: Int64, startsNow: Bool = true, _ act: () async -> Void) async {
        if startsNow { await act() }
        while await sleep(until: now.adding(milliseconds: milliseconds)) { await act() }
    }
}

extension Logger {
    func auditFailed(_ kind: AuditEntry.Kind, _ object: String, _ failure: Failure) {
        error(
            "audit log write failed",
            metadata: ["type": "\(kind.rawValue)", "object": "\(object)", "cause": "\(failure)"])
    }
}
