internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Sockets
internal import Storage
internal import Web

/// `GET /metrics`: collects the counts of every part.
struct MetricsPage: Sendable {
    let base: ServerBase
    let requests: RequestMetrics
    let admission: AdmissionControl
    let acceptor: TLSAcceptor?
    /// Nil: plain HTTP.
    let certificate: CertificateReload?
    let signIns: CounterGrid<SignInFlow, SignInEnd>
    let notifications: NotificationMetrics
    let calls: AppleCallMetrics
    let counts: CountsCache
    let readiness: Readiness
    let lostLogLines: @Sendable () -> Int
    let startedAt: Timestamp

    private typealias Families = MetricFamilies

    func render() async -> [UInt8] {
        let isReady = await readiness.examine().allSatisfy { $0.problem == nil }
        let counted = await counts.current()
        var text = MetricsText()
        writeProcess(isReady: isReady, to: &text)
        writeConnections(to: &text)
        writeRequests(to: &text)
        writeSigningIn(to: &text)
        writeCounts(counted, to: &text)
        writeStore(to: &text)
        return text.finish()
    }

    private func writeProcess(isReady: Bool, to text: inout MetricsText) {
        text.begin(Families.build)
        text.sample(Families.build, [Build.version, Build.commit, Build.swift], 1)
        let usage = ProcessUsage.now
        text.one(Families.start, Double(startedAt.milliseconds) / 1000)
        text.one(Families.processor, Double(usage.processorTime) / 1e9)
        text.one(Families.memory, usage.residentMemory.map { Double($0) })
        text.one(Families.descriptors, usage.openDescriptors.map { Double($0) })
        text.one(Families.maximumDescriptors, usage.maximumDescriptors.map { Double($0) })
        text.one(Families.ready, isReady ? 1 : 0)
        text.one(Families.lostLogLines, Double(lostLogLines()))
    }

    private func writeConnections(to text: inout MetricsText) {
        let tally = admission.tally
        text.one(Families.openConnections, Double(admission.total))
        text.one(Families.acceptedConnections, Double(admission.admitted))
        text.begin(Families.refusedConnections)
        for (cause, count) in [
            ("connections", tally.refused), ("connections_per_address", tally.refusedByAddress),
            ("descriptors", tally.withoutDescriptor), ("idle", tally.shed),
        ] {
            text.sample(Families.refusedConnections, [cause], count)
        }
        text.begin(Families.handshakes)
        if let acceptor {
            for version in TLSVersion.allCases {
                text.sample(Families.handshakes, [version.label, "false"], acceptor.handshakes(.full, version))
                text.sample(Families.handshakes, [version.label, "true"], acceptor.handshakes(.resumed, version))
            }
        }
        text.one(Families.failedHandshakes, (acceptor?.handshakes(.failed)).map { Double($0) })
        text.one(Families.certificateEnd, certificate?.notAfter.map { Double($0) })
        let http2 = requests.http2
        text.one(Families.http2Connections, Double(http2.begun))
        text.one(Families.http2Open, Double(http2.open))
    }

    private func writeRequests(to text: inout MetricsText) {
        text.begin(Families.requests)
        requests.forEachCount { text.sample(Families.requests, [$0, $1, $2], $3) }
        text.begin(Families.durations)
        requests.forEachDuration { text.sample(Families.durations, [$0], $1) }
    }

    /// All values from the start, including those that are 0: otherwise a rate would miss the first event.
    private func writeSigningIn(to text: inout MetricsText) {
        text.begin(Families.signIns)
        for flow in SignInFlow.allCases {
            for end in SignInEnd.allCases {
                text.sample(Families.signIns, [flow.rawValue, end.outcome, end.reason], signIns[flow, end])
            }
        }
        text.begin(Families.notifications)
        for kind in NotificationMetrics.Kind.allCases {
            for end in NotificationMetrics.End.allCases where end.isPossible(kind) {
                text.sample(
                    Families.notifications, [kind.rawValue, end.rawValue], notifications.count(of: kind, end))
            }
        }
        text.begin(Families.calls)
        for endpoint in AppleCallMetrics.Endpoint.allCases {
            for outcome in AppleCallMetrics.Outcome.allCases {
                text.sample(
                    Families.calls, [endpoint.rawValue, outcome.rawValue], calls.count(of: endpoint, outcome))
            }
        }
        text.begin(Families.callDurations)
        for endpoint in AppleCallMetrics.Endpoint.allCases {
            guard let reading = calls.durations(of: endpoint), reading.count > 0 else { continue }
            text.sample(Families.callDurations, [endpoint.rawValue], reading)
        }
        text.one(Families.clockOffset, calls.clockOffset.map { Double($0.milliseconds) / 1000 })
    }

    private func writeCounts(_ counted: CountsCache.Counted?, to text: inout MetricsText) {
        let (now, counts) = (base.runtime.clock.now(), counted?.counts)
        func age(_ since: Timestamp?) -> Double? {
            guard counts != nil else { return nil }
            return since.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1000) } ?? 0
        }
        func number(_ value: Int?) -> Double? { value.map { Double($0) } }
        text.one(Families.sessions, number(counts?.sessions))
        text.begin(Families.credentials)
        if let counts {
            for state in CredentialState.allCases {
                text.sample(Families.credentials, [state.rawValue], counts.credentials[state] ?? 0)
            }
        }
        text.one(Families.pending, number(counts?.pending))
        text.one(Families.pendingAge, age(counts?.oldestPending))
        text.one(Families.webhooksWaiting, number(counts?.webhooksWaiting))
        text.one(Families.webhooksAge, age(counts?.oldestWebhook))
        text.one(Families.webhooksDead, number(counts?.webhooksDead))
        text.one(Families.revocationsWaiting, number(counts?.revocationsWaiting))
        text.one(Families.revocationsAge, age(counts?.oldestRevocation))
        text.one(Families.revocationsFailed, number(counts?.revocationsFailed))
        text.one(Families.checksDue, number(counts?.checksDue))
        text.one(Families.checksAge, age(counts?.checksDueSince))
        text.one(Families.checksStopped, counts.map { $0.checksAreStopped ? 1 : 0 })
        text.one(Families.clientsRefused, number(counts?.clientsRefused))
        text.one(Families.countsAge, age(counted?.at))
    }

    private func writeStore(to text: inout MetricsText) {
        let (store, storage) = (base.database.store, base.configuration.storage)
        let statistics = store.statistics
        text.begin(Families.commits)
        text.sample(Families.commits, [], store.metrics.commits.reading)
        text.begin(Families.batches)
        text.sample(Families.batches, [], store.metrics.batches.reading)
        text.one(Families.storeFailures, Double(store.metrics.failures.value))
        text.one(Families.pendingWrites, Double(statistics.pending + statistics.running))
        text.begin(Families.files)
        // PostgreSQL has metrics of its own.
        let path = storage.postgres == nil ? Store.path(in: storage.directory) : nil
        for (file, suffix) in [("database", ""), ("wal", "-wal")] {
            guard let path, let stamp = FileStamp(of: path + suffix) else { continue }
            text.sample(Families.files, [file], Int(stamp.size))
        }
    }
}
