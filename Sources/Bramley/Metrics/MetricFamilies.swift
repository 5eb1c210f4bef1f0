internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Sockets
internal import Storage

struct Metric: Sendable {
    typealias Label = MetricFamily.Label

    let family: MetricFamily
    let write: @Sendable (MetricsReading, MetricFamily, inout MetricsText) -> Void

    /// Nothing is written but the family's name where there is no value.
    init(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (MetricsReading) -> Int?
    ) {
        self.init(name, kind, help, seconds: { value($0).map { Double($0) } })
    }

    init(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        seconds value: @escaping @Sendable (MetricsReading) -> Double?
    ) {
        self.init(name, kind, help, labels: []) { reading, family, text in
            if let value = value(reading) { text.sample(family, [], value) }
        }
    }

    init(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, labels: [Label],
        samples: @escaping @Sendable (MetricsReading, MetricFamily, inout MetricsText) -> Void
    ) {
        family = MetricFamily(name, kind, help, labels: labels)
        write = samples
    }
}

/// Every metric, under the headings of docs/reference/metrics.md.
extension Metric {
    static let groups: [(title: String, metrics: [Metric])] = [
        ("The process", process), ("Connections", connections), ("Requests", requests), ("Signing in", signingIn),
        ("Sessions, credentials and queues", stored), ("The store", store),
    ]

    @EntryList<Metric> private static var process: [Metric] {
        Metric(
            "bramley_build_info", .gauge, "Always 1; the labels identify the build.",
            labels: [
                .init("version", described: "of this build"),
                .init("commit", described: "of the sources, or `unknown`"),
                .init("swift", described: "the compiler's version"),
            ]
        ) { _, family, text in
            text.sample(family, [Build.version, Build.commit, Build.swift], 1)
        }
        Metric(
            "bramley_process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.",
            seconds: { Double($0.page.startedAt.milliseconds) / 1000 })
        Metric(
            "bramley_process_cpu_seconds_total", .counter, "User and system CPU time, in seconds.",
            seconds: { Double($0.usage.processorTime) / 1e9 })
        Metric(
            "bramley_process_resident_memory_bytes", .gauge, "Resident memory of the process.",
            { $0.usage.residentMemory.map { Int($0) } })
        Metric("bramley_process_open_fds", .gauge, "Open file descriptors.", \.usage.openDescriptors)
        Metric(
            "bramley_process_max_fds", .gauge, "Maximum number of open file descriptors.", \.usage.maximumDescriptors)
        Metric(
            "bramley_ready", .gauge, "1 if the server is ready (/readyz), otherwise 0.",
            { $0.isReady ? 1 : 0 })
        Metric(
            "bramley_log_lines_lost_total", .counter,
            "Log lines dropped: not read in time, or not written.", { $0.page.lostLogLines() })
    }

    @EntryList<Metric> private static var connections: [Metric] {
        Metric(
            "bramley_connections_open", .gauge, "Open visitor connections, including redirects to https.",
            { $0.page.admission.total })
        Metric(
            "bramley_connections_accepted_total", .counter, "Accepted visitor connections.",
            { $0.page.admission.admitted })
        Metric(
            "bramley_connections_closed_for_room_total", .counter,
            "Visitor connections closed at a limit.",
            labels: [.init("cause", ["connections", "connections_per_address", "descriptors", "idle"])]
        ) { reading, family, text in
            let tally = reading.page.admission.tally
            text.sample(family, ["connections"], tally.refused)
            text.sample(family, ["connections_per_address"], tally.refusedByAddress)
            text.sample(family, ["descriptors"], tally.withoutDescriptor)
            text.sample(family, ["idle"], tally.shed)
        }
        Metric(
            "bramley_tls_handshakes_total", .counter, "Completed TLS handshakes.",
            labels: [
                .init("version", TLSVersion.allCases.map(\.metricLabel)), .init("resumed", ["false", "true"]),
            ]
        ) { reading, family, text in
            guard let acceptor = reading.page.acceptor else { return }
            for version in TLSVersion.allCases {
                text.sample(family, [version.metricLabel, "false"], acceptor.handshakes(.full, version))
                text.sample(family, [version.metricLabel, "true"], acceptor.handshakes(.resumed, version))
            }
        }
        Metric(
            "bramley_tls_handshake_failures_total", .counter, "Failed TLS handshakes, including plain HTTP.",
            { $0.page.acceptor?.handshakes(.failed) })
        Metric(
            "bramley_tls_certificate_not_after_seconds", .gauge,
            "Expiry of the certificate in use, in seconds since 1970. Absent without server.certificateFile.",
            { $0.page.certificate?.notAfter.map { Int($0) } })
        Metric(
            "bramley_http2_connections_total", .counter, "Connections that negotiated HTTP/2.",
            { $0.page.requests.http2.begun })
        Metric("bramley_http2_connections_open", .gauge, "Open HTTP/2 connections.", { $0.page.requests.http2.open })
    }

    private static let route = Label("route", described: "a pattern such as `/api/v1/users/{id}`, or `other`")

    @EntryList<Metric> private static var requests: [Metric] {
        Metric(
            "bramley_http_requests_total", .counter,
            "Responses to visitors.",
            labels: [
                route,
                .init("method", RequestMetrics.methodNames, described: "a method of HTTP, or `other`"),
                .init("status", RequestMetrics.statusNames, described: "a status of HTTP, or `other`"),
            ]
        ) { reading, family, text in
            reading.page.requests.forEachCount { text.sample(family, [$0, $1, $2], $3) }
        }
        Metric(
            "bramley_http_request_duration_seconds", .histogram,
            "Time from the complete request to the response.", labels: [route]
        ) { reading, family, text in
            reading.page.requests.forEachDuration { text.sample(family, [$0], $1) }
        }
    }

    private static let endpoint = Label("endpoint", AppleCallMetrics.Endpoint.allCases.map(\.rawValue))

    /// All values from the start, including those that are 0: otherwise a rate would miss the first event.
    @EntryList<Metric> private static var signingIn: [Metric] {
        Metric(
            "bramley_sign_ins_total", .counter, "Results of callbacks and of sign-ins from apps.",
            labels: [
                .init("flow", SignInFlow.allCases.map(\.rawValue)),
                .init("outcome", SignInEnd.allCases.map(\.outcome).withoutRepetition),
                .init(
                    "reason", SignInEnd.allCases.map(\.reason).withoutRepetition,
                    described: "empty, `refused_before`, or a [reason code](failures.md)"),
            ]
        ) { reading, family, text in
            for flow in SignInFlow.allCases {
                for end in SignInEnd.allCases {
                    text.sample(family, [flow.rawValue, end.outcome, end.reason], reading.page.signIns[flow, end])
                }
            }
        }
        Metric(
            "bramley_apple_notifications_total", .counter, "Results of posts to /apple/notifications.",
            labels: [
                .init("type", NotificationMetrics.Kind.allCases.map(\.rawValue)),
                .init("outcome", NotificationMetrics.End.allCases.map(\.rawValue)),
            ]
        ) { reading, family, text in
            for kind in NotificationMetrics.Kind.allCases {
                for end in NotificationMetrics.End.allCases where end.isPossible(kind) {
                    text.sample(family, [kind.rawValue, end.rawValue], reading.page.notifications[kind, end])
                }
            }
        }
        Metric(
            "bramley_apple_requests_total", .counter, "Results of requests to Apple.",
            labels: [endpoint, .init("outcome", AppleCallMetrics.Outcome.allCases.map(\.rawValue))]
        ) { reading, family, text in
            for endpoint in AppleCallMetrics.Endpoint.allCases {
                for outcome in AppleCallMetrics.Outcome.allCases {
                    text.sample(
                        family, [endpoint.rawValue, outcome.rawValue], reading.page.calls.count(of: endpoint, outcome))
                }
            }
        }
        Metric(
            "bramley_apple_request_duration_seconds", .histogram,
            "Duration of requests to Apple, including failed ones.", labels: [endpoint]
        ) { reading, family, text in
            for endpoint in AppleCallMetrics.Endpoint.allCases {
                guard let times = reading.page.calls.durations(of: endpoint), times.count > 0 else { continue }
                text.sample(family, [endpoint.rawValue], times)
            }
        }
        Metric(
            "bramley_apple_clock_offset_seconds", .gauge,
            "Seconds that this clock is ahead of Apple's last answer. Absent before the first.",
            seconds: { $0.page.calls.clockOffset.map { Double($0.milliseconds) / 1000 } })
    }

    @EntryList<Metric> private static var stored: [Metric] {
        Metric("bramley_sessions", .gauge, "Live sessions.", \.counts?.sessions)
        Metric(
            "bramley_credentials", .gauge, "Apple identities by credential state.",
            labels: [.init("state", CredentialState.allCases.map(\.rawValue))]
        ) { reading, family, text in
            guard let counts = reading.counts else { return }
            for state in CredentialState.allCases {
                text.sample(family, [state.rawValue], counts.credentials[state] ?? 0)
            }
        }
        Metric("bramley_users_pending", .gauge, "People waiting for approval.", \.counts?.pending)
        Metric(
            "bramley_users_pending_oldest_age_seconds", .gauge,
            "Time since the first of them signed in; 0 if no one waits.", seconds: { $0.age(\.oldestPending) })
        Metric(
            "bramley_webhooks_waiting", .gauge, "Events waiting for delivery, counted for each endpoint.",
            \.counts?.webhooksWaiting)
        Metric(
            "bramley_webhooks_oldest_age_seconds", .gauge, "Age of the oldest waiting event; 0 if none waits.",
            seconds: { $0.age(\.oldestWebhook) })
        Metric("bramley_webhooks_dead", .gauge, "Dead letters, counted for each endpoint.", \.counts?.webhooksDead)
        Metric(
            "bramley_revocations_waiting", .gauge, "Deletions not yet reported to Apple.", \.counts?.revocationsWaiting)
        Metric(
            "bramley_revocations_oldest_age_seconds", .gauge, "Waiting time of the oldest; 0 if none waits.",
            seconds: { $0.age(\.oldestRevocation) })
        Metric(
            "bramley_revocations_given_up", .gauge, "Deletions that could not be reported to Apple.",
            \.counts?.revocationsFailed)
        Metric("bramley_credential_checks_due", .gauge, "Credentials due for their daily check.", \.counts?.checksDue)
        Metric(
            "bramley_credential_checks_oldest_age_seconds", .gauge,
            "How long the first has been due; 0 if none is.", seconds: { $0.age(\.checksDueSince) })
        Metric(
            "bramley_credential_checks_stopped", .gauge,
            "1 if too many revoked credentials stopped the daily checks.",
            { $0.counts.map { $0.checksAreStopped ? 1 : 0 } })
        Metric(
            "bramley_credential_checks_refused_clients", .gauge,
            "Our client IDs that Apple rejects in the daily checks.", \.counts?.clientsRefused)
        Metric(
            "bramley_store_counts_age_seconds", .gauge,
            "Age of the session, credential and queue numbers.", seconds: { $0.age(of: $0.counted?.at) })
    }

    @EntryList<Metric> private static var store: [Metric] {
        Metric(
            "bramley_store_commit_duration_seconds", .histogram,
            "Duration of transactions, from BEGIN to the end of COMMIT.", labels: []
        ) {
            $2.sample($1, [], $0.store.metrics.commits.reading)
        }
        Metric("bramley_store_commit_writes", .histogram, "Writes per transaction.", labels: []) {
            $2.sample($1, [], $0.store.metrics.batches.reading)
        }
        Metric(
            "bramley_store_commit_failures_total", .counter,
            "Transactions that could not begin or commit.",
            { $0.store.metrics.failures.value })
        Metric(
            "bramley_store_writes_pending", .gauge, "Writes waiting for or in a transaction.",
            { $0.store.statistics.pending + $0.store.statistics.running })
        Metric(
            "bramley_store_file_bytes", .gauge, "Size of the database and its write-ahead log.",
            labels: [.init("file", ["database", "wal"])]
        ) { reading, family, text in
            let storage = reading.page.base.configuration.storage
            // PostgreSQL has metrics of its own.
            guard storage.postgres == nil else { return }
            for (file, suffix) in [("database", ""), ("wal", "-wal")] {
                guard let stamp = FileStamp(of: Store.path(in: storage.directory) + suffix) else { continue }
                text.sample(family, [file], Int(stamp.size))
            }
        }
    }
}

extension TLSVersion {
    fileprivate var metricLabel: String {
        switch self {
        case .tls12: "1.2"
        case .tls13: "1.3"
        }
    }
}

extension [String] {
    fileprivate var withoutRepetition: [String] {
        reduce(into: []) { found, value in
            if !found.contains(value) { found.append(value) }
        }
    }
}
