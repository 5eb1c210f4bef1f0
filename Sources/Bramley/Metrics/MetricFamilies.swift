internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Sockets

/// Every metric of `/metrics`, in the order of the page. docs/metrics.md is generated from this table.
enum MetricFamilies {
    typealias Family = MetricFamily
    typealias Label = MetricFamily.Label

    // MARK: The process

    static let build = Family(
        "bramley_build_info", .gauge, "Always 1; the labels identify the build.",
        labels: [
            Label("version", described: "of this build"),
            Label("commit", described: "of the sources; `unknown` if not given to the build"),
            Label("swift", described: "the compiler's version"),
        ])
    static let start = Family(
        "bramley_process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.")
    static let processor = Family(
        "bramley_process_cpu_seconds_total", .counter, "User and system CPU time, in seconds.")
    static let memory = Family(
        "bramley_process_resident_memory_bytes", .gauge, "Resident memory of the process.")
    static let descriptors = Family("bramley_process_open_fds", .gauge, "Open file descriptors.")
    static let maximumDescriptors = Family(
        "bramley_process_max_fds", .gauge, "Maximum number of open file descriptors.")
    static let ready = Family(
        "bramley_ready", .gauge, "1 if the server is ready, as /readyz reports; otherwise 0.")
    static let lostLogLines = Family(
        "bramley_log_lines_lost_total", .counter,
        "Log lines dropped because they were not read in time or could not be written.")

    // MARK: Connections

    static let openConnections = Family(
        "bramley_connections_open", .gauge, "Open visitor connections, including redirects to https.")
    static let acceptedConnections = Family(
        "bramley_connections_accepted_total", .counter, "Accepted visitor connections.")
    static let refusedConnections = Family(
        "bramley_connections_closed_for_room_total", .counter,
        "Visitor connections closed because a limit was reached.",
        labels: [Label("cause", ["connections", "connections_per_address", "descriptors", "idle"])])
    static let handshakes = Family(
        "bramley_tls_handshakes_total", .counter, "Completed TLS handshakes.",
        labels: [Label("version", TLSVersion.allCases.map(\.label)), Label("resumed", ["false", "true"])])
    static let failedHandshakes = Family(
        "bramley_tls_handshake_failures_total", .counter, "Failed TLS handshakes, including plain HTTP.")
    static let certificateEnd = Family(
        "bramley_tls_certificate_not_after_seconds", .gauge,
        "Expiry time of the certificate in use, in seconds since 1970. Absent without server.certificateFile.")
    static let http2Connections = Family(
        "bramley_http2_connections_total", .counter, "Connections that negotiated HTTP/2.")
    static let http2Open = Family("bramley_http2_connections_open", .gauge, "Open HTTP/2 connections.")

    // MARK: Requests

    private static let route = Label(
        "route", described: "a pattern of the routes below publicURL, such as `/api/v1/users/{id}`, or `other`")
    static let requests = Family(
        "bramley_http_requests_total", .counter,
        "Responses to visitors, for each route, method and status that occurred.",
        labels: [
            route, Label("method", RequestMetrics.methodNames), Label("status", RequestMetrics.statusNames),
        ])
    static let durations = Family(
        "bramley_http_request_duration_seconds", .histogram,
        "Time from the complete request to the response, for each requested route.",
        labels: [route])

    // MARK: Signing in

    static let signIns = Family(
        "bramley_sign_ins_total", .counter, "Results of callbacks and of sign-ins from apps.",
        labels: [
            Label("flow", SignInFlow.allCases.map(\.rawValue)),
            Label("outcome", SignInEnd.allCases.map(\.outcome).withoutRepetition),
            Label("reason", SignInEnd.allCases.map(\.reason).withoutRepetition),
        ])
    static let notifications = Family(
        "bramley_apple_notifications_total", .counter, "Results of posts to /apple/notifications.",
        labels: [
            Label("type", NotificationMetrics.Kind.allCases.map(\.rawValue)),
            Label("outcome", NotificationMetrics.End.allCases.map(\.rawValue)),
        ])
    private static let endpoint = Label("endpoint", AppleCallMetrics.Endpoint.allCases.map(\.rawValue))
    static let calls = Family(
        "bramley_apple_requests_total", .counter, "Results of requests to Apple.",
        labels: [endpoint, Label("outcome", AppleCallMetrics.Outcome.allCases.map(\.rawValue))])
    static let callDurations = Family(
        "bramley_apple_request_duration_seconds", .histogram, "Duration of requests to Apple, including failed ones.",
        labels: [endpoint])
    static let clockOffset = Family(
        "bramley_apple_clock_offset_seconds", .gauge,
        "Seconds that this machine's clock is ahead of Apple's, from Apple's last answer. Absent before the first.")

    // MARK: What is stored

    static let sessions = Family("bramley_sessions", .gauge, "Live sessions.")
    static let credentials = Family(
        "bramley_credentials", .gauge, "Apple identities by credential state.",
        labels: [Label("state", CredentialState.allCases.map(\.rawValue))])
    static let pending = Family("bramley_users_pending", .gauge, "People waiting for approval.")
    static let pendingAge = Family(
        "bramley_users_pending_oldest_age_seconds", .gauge,
        "Time since the first of them signed in; 0 if nobody waits.")
    static let webhooksWaiting = Family(
        "bramley_webhooks_waiting", .gauge, "Events waiting for delivery, counted for each endpoint.")
    static let webhooksAge = Family(
        "bramley_webhooks_oldest_age_seconds", .gauge, "Age of the oldest waiting event; 0 if none waits.")
    static let webhooksDead = Family("bramley_webhooks_dead", .gauge, "Dead letters, counted for each endpoint.")
    static let revocationsWaiting = Family(
        "bramley_revocations_waiting", .gauge, "Deletions not yet reported to Apple.")
    static let revocationsAge = Family(
        "bramley_revocations_oldest_age_seconds", .gauge, "Waiting time of the oldest; 0 if none waits.")
    static let revocationsFailed = Family(
        "bramley_revocations_given_up", .gauge, "Deletions that could not be reported to Apple.")
    static let checksDue = Family(
        "bramley_credential_checks_due", .gauge, "Credentials due for their daily check.")
    static let checksAge = Family(
        "bramley_credential_checks_oldest_age_seconds", .gauge,
        "How long the first has been due; 0 if none is.")
    static let checksStopped = Family(
        "bramley_credential_checks_stopped", .gauge,
        "1 if too many revoked credentials stopped the daily checks; otherwise 0.")
    static let clientsRefused = Family(
        "bramley_credential_checks_refused_clients", .gauge, "Our client IDs that Apple rejects in the daily checks.")
    static let countsAge = Family(
        "bramley_store_counts_age_seconds", .gauge,
        "Age of the session, credential and queue numbers on this page.")

    // MARK: The store

    static let commits = Family(
        "bramley_store_commit_duration_seconds", .histogram,
        "Duration of transactions, from BEGIN to the end of COMMIT.")
    static let batches = Family("bramley_store_commit_writes", .histogram, "Writes per transaction.")
    static let storeFailures = Family(
        "bramley_store_commit_failures_total", .counter,
        "Transactions that could not begin or commit: full disk, I/O error, or a lock held too long.")
    static let pendingWrites = Family(
        "bramley_store_writes_pending", .gauge, "Writes waiting for or in a transaction.")
    static let files = Family(
        "bramley_store_file_bytes", .gauge, "Size of the database and its write-ahead log.",
        labels: [Label("file", ["database", "wal"])])

    /// All of them, under the headings of docs/metrics.md.
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
                sessions, credentials, pending, pendingAge, webhooksWaiting, webhooksAge, webhooksDead,
                revocationsWaiting, revocationsAge, revocationsFailed, checksDue, checksAge, checksStopped,
                clientsRefused, countsAge,
            ]
        ),
        ("The store", [commits, batches, storeFailures, pendingWrites, files]),
    ]
}

extension TLSVersion {
    /// The value for a label.
    var label: String {
        switch self {
        case .tls12: "1.2"
        case .tls13: "1.3"
        }
    }
}

extension [String] {
    /// Each once, in order of first appearance.
    fileprivate var withoutRepetition: [String] {
        reduce(into: []) { found, value in
            if !found.contains(value) { found.append(value) }
        }
    }
}
