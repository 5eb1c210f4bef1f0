internal import AppleID
internal import HTTP
internal import Instruments
internal import RelyingParty
internal import Sockets

/// Every metric of `/metrics`, in the order of the page. docs/metrics.md is made of this table.
enum MetricFamilies {
    typealias Family = MetricFamily
    typealias Label = MetricFamily.Label

    // MARK: The process

    static let build = Family(
        "bramley_build_info", .gauge, "1; the labels say which build runs.",
        labels: [
            Label("version", described: "of this build"),
            Label("commit", described: "of the sources; `unknown` when the build was not told"),
            Label("swift", described: "the compiler's version"),
        ])
    static let start = Family(
        "bramley_process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.")
    static let processor = Family(
        "bramley_process_cpu_seconds_total", .counter, "Processor time used, user and system, in seconds.")
    static let memory = Family(
        "bramley_process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM.")
    static let descriptors = Family("bramley_process_open_fds", .gauge, "File descriptors that are open.")
    static let maximumDescriptors = Family(
        "bramley_process_max_fds", .gauge, "The most file descriptors the process may have open.")
    static let ready = Family(
        "bramley_ready", .gauge, "Whether the server can do its work, as /readyz says: 1, or 0 when it cannot.")
    static let lostLogLines = Family(
        "bramley_log_lines_lost_total", .counter,
        "Lines of the log that were lost: nobody read them in time, or they could not be written.")

    // MARK: Connections

    static let openConnections = Family(
        "bramley_connections_open", .gauge, "Visitors' connections that are open, redirects to https included.")
    static let acceptedConnections = Family(
        "bramley_connections_accepted_total", .counter, "Visitors' connections that were let in.")
    static let refusedConnections = Family(
        "bramley_connections_closed_for_room_total", .counter,
        "Visitors' connections that were closed because there was no room for them.",
        labels: [Label("cause", ["connections", "connections_per_address", "descriptors", "idle"])])
    static let handshakes = Family(
        "bramley_tls_handshakes_total", .counter, "TLS handshakes that were completed.",
        labels: [Label("version", TLSVersion.allCases.map(\.label)), Label("resumed", ["false", "true"])])
    static let failedHandshakes = Family(
        "bramley_tls_handshake_failures_total", .counter, "TLS handshakes that failed, plain HTTP included.")
    static let certificateEnd = Family(
        "bramley_tls_certificate_not_after_seconds", .gauge,
        "When the certificate in use ends, in seconds since 1970. Absent without server.certificateFile.")
    static let http2Connections = Family(
        "bramley_http2_connections_total", .counter, "Connections that chose HTTP/2.")
    static let http2Open = Family("bramley_http2_connections_open", .gauge, "Of them, those that are open.")

    // MARK: Requests

    private static let route = Label(
        "route", described: "a pattern of the routes below publicURL, such as `/api/v1/users/{id}`, or `other`")
    static let requests = Family(
        "bramley_http_requests_total", .counter,
        "Responses to visitors' requests; of a route, method and status that occurred.",
        labels: [
            route, Label("method", RequestMetrics.methodNames), Label("status", RequestMetrics.statusNames),
        ])
    static let durations = Family(
        "bramley_http_request_duration_seconds", .histogram,
        "How long routes took, from the whole request to the response; of routes that were asked for.",
        labels: [route])

    // MARK: Signing in

    static let signIns = Family(
        "bramley_sign_ins_total", .counter, "How posts to the callback and apps' sign-ins ended.",
        labels: [
            Label("flow", SignInFlow.allCases.map(\.rawValue)),
            Label("outcome", SignInEnd.allCases.map(\.outcome).withoutRepetition),
            Label("reason", SignInEnd.allCases.map(\.reason).withoutRepetition),
        ])
    static let notifications = Family(
        "bramley_apple_notifications_total", .counter, "What became of posts to /apple/notifications.",
        labels: [
            Label("type", NotificationMetrics.Kind.allCases.map(\.rawValue)),
            Label("outcome", NotificationMetrics.End.allCases.map(\.rawValue)),
        ])
    private static let endpoint = Label("endpoint", AppleCallMetrics.Endpoint.allCases.map(\.rawValue))
    static let calls = Family(
        "bramley_apple_requests_total", .counter, "How requests to Apple ended.",
        labels: [endpoint, Label("outcome", AppleCallMetrics.Outcome.allCases.map(\.rawValue))])
    static let callDurations = Family(
        "bramley_apple_request_duration_seconds", .histogram, "How long requests to Apple took, those that failed too.",
        labels: [endpoint])
    static let clockOffset = Family(
        "bramley_apple_clock_offset_seconds", .gauge,
        "How far this machine's clock is ahead of Apple's, by Apple's last answer. Absent before the first.")

    // MARK: What is stored

    static let sessions = Family("bramley_sessions", .gauge, "Sessions that are live.")
    static let credentials = Family(
        "bramley_credentials", .gauge, "People's Apple identities, by what Apple says of them.",
        labels: [Label("state", CredentialState.allCases.map(\.rawValue))])
    static let webhooksWaiting = Family(
        "bramley_webhooks_waiting", .gauge, "Events on their way to applications, counted for each address.")
    static let webhooksAge = Family(
        "bramley_webhooks_oldest_age_seconds", .gauge, "How long ago the oldest of them happened; 0 when none waits.")
    static let webhooksDead = Family("bramley_webhooks_dead", .gauge, "Events that were given up, for each address.")
    static let revocationsWaiting = Family(
        "bramley_revocations_waiting", .gauge, "Deletions that Apple has still to be told of.")
    static let revocationsAge = Family(
        "bramley_revocations_oldest_age_seconds", .gauge, "How long the oldest of them has waited; 0 when none does.")
    static let revocationsFailed = Family(
        "bramley_revocations_given_up", .gauge, "Deletions that Apple could not be told of.")
    static let checksDue = Family(
        "bramley_credential_checks_due", .gauge, "Credentials whose daily check at Apple is due.")
    static let checksAge = Family(
        "bramley_credential_checks_oldest_age_seconds", .gauge,
        "For how long the first of them has been due; 0 when none is.")
    static let checksStopped = Family(
        "bramley_credential_checks_stopped", .gauge,
        "1 when a wave of dead credentials stopped the daily checks, else 0.")
    static let clientsRefused = Family(
        "bramley_credential_checks_refused_clients", .gauge, "Our client IDs that Apple refuses in the daily check.")
    static let countsAge = Family(
        "bramley_store_counts_age_seconds", .gauge,
        "How old the numbers of sessions, credentials and queues on this page are.")

    // MARK: The store

    static let commits = Family(
        "bramley_store_commit_duration_seconds", .histogram,
        "How long transactions took, from BEGIN until COMMIT had returned.")
    static let batches = Family("bramley_store_commit_writes", .histogram, "Writes that shared a transaction.")
    static let storeFailures = Family(
        "bramley_store_commit_failures_total", .counter,
        "Transactions that could not be begun or committed: a full disk, an I/O error, a lock held too long.")
    static let pendingWrites = Family(
        "bramley_store_writes_pending", .gauge, "Writes that wait for their transaction or are in it.")
    static let files = Family(
        "bramley_store_file_bytes", .gauge, "How large the database and its write-ahead log are.",
        labels: [Label("file", ["database", "wal"])])

    /// All of them, below the headings of docs/metrics.md.
    static let groups: [(title: String, families: [Family])] = [
        ("The process", [build, start, processor, memory, descriptors, maximumDescriptors, ready, lostLogLines]),
        (
            "Connections",
            [
                openConnections, acceptedConnections, refusedConnections, handshakes, failedHandshakes, certificateEnd,
                http2Connections, http2Open,
            ]
        ),
        ("Requests", [requests, durations]),
        ("Signing in", [signIns, notifications, calls, callDurations, clockOffset]),
        (
            "Sessions, credentials and queues",
            [
                sessions, credentials, webhooksWaiting, webhooksAge, webhooksDead, revocationsWaiting, revocationsAge,
                revocationsFailed, checksDue, checksAge, checksStopped, clientsRefused, countsAge,
            ]
        ),
        ("The store", [commits, batches, storeFailures, pendingWrites, files]),
    ]
}

extension TLSVersion {
    /// As a label has it.
    var label: String {
        switch self {
        case .tls12: "1.2"
        case .tls13: "1.3"
        }
    }
}

extension [String] {
    /// Each once, in the order they first come.
    fileprivate var withoutRepetition: [String] {
        reduce(into: []) { found, value in
            if !found.contains(value) { found.append(value) }
        }
    }
}
