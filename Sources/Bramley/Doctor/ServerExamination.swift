internal import Accounts
internal import Coding
internal import Crypto
internal import HTTP
internal import HTTPTypes
internal import Sockets
internal import Storage
internal import Web

/// The server on this machine, through its admin listener.
struct ServerExamination: Sendable {
    let configuration: Configuration
    let transport: any HTTPTransport
    /// Nil without a sealing key: then it is unknown whether this server answers.
    let keyring: SealingKeyring?
    let clock: any WallClock
    /// For the whole answer, in milliseconds.
    private static let timeout: Int64 = 30_000

    /// Of the admin listener, as this machine reaches it.
    static func url(of admin: SocketAddress, _ target: String) -> ClientURL {
        // A listener on every address answers on this machine's own.
        let host =
            switch admin.ip {
            case .v4(0): "127.0.0.1"
            case .v6(0, 0): "::1"
            default: admin.ip.description
            }
        return ClientURL(isSecure: false, host: host, port: admin.port, target: target)
    }

    /// The server first, then its warnings.
    func run() async -> [Diagnosis] {
        let url = Self.url(of: configuration.admin, "/readyz")
        let place = "\(url.host):\(url.port)"
        let pass = keyring.map { InspectionPass.make(with: $0, at: clock.now()) }
        var fields: HTTPFields = [.accept: "application/json"]
        if let pass { fields[Inspection.field] = pass }
        // A server whose database is locked answers after two writes have waited for the lock: one under way, and its own.
        var request = ClientRequest(
            method: .get, url: url, fields: fields, timeout: Self.timeout, maximumBodySize: 16_384)
        request.cutsLongBody = true
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await transport.send(request)
        } catch {
            if case .malformed = error { return [elsewhere(place, "what answers there does not speak HTTP")] }
            return [
                .wrong(
                    .serverNotRunning, "Nothing answers on admin.host and admin.port, \(place): \(error.words).",
                    next:
                        "Start bramley serve with this configuration, or run bramley doctor on the machine it runs on.")
            ]
        }
        let status = response.status.code
        guard let object = (try? JSONReader.parse(response.body))?.objectValue,
            let verdict = object["status"]?.stringValue, let checks = object["checks"]?.arrayValue
        else { return [elsewhere(place, "it answers /readyz with status \(status) and without checks")] }
        if let keyring, let pass {
            let proof = response.fields[values: Inspection.field]
            guard proof.count == 1, InspectionPass.isAnswer(proof[0], to: pass, with: keyring) else {
                return [elsewhere(place, "it does not prove that it has this server's sealing key")]
            }
        }
        let problems = checks.compactMap { $0.objectValue?["problem"]?.stringValue }
        guard status == 200, verdict.isExactly("ready"), problems.isEmpty else {
            return [
                .wrong(
                    .serverNotReady,
                    "The server on \(place) says: \(verdict): \(problems.joined(separator: "; ")) (status \(status)).",
                    next: "Check the server's log. \(configuration.storage.advice)")
            ]
        }
        return [.good(.server, "The server on \(place) is ready: it writes to its database.")]
            + checks.compactMap { refusal(in: $0.objectValue) }
    }

    private func elsewhere(_ place: String, _ why: String) -> Diagnosis {
        .wrong(
            .serverElsewhere, "Something answers on admin.host and admin.port, \(place), but not this server: \(why).",
            next:
                "See what listens there: ss -ltnp. If it is another program or another Bramley, give this server its own "
                + "admin.port. If it is this server, restart it: it has another sealing key, an older version, or a clock "
                + "that is minutes off.")
    }

    /// A notification that the server refused, for an app that is not configured.
    private func refusal(in check: JSONObject?) -> Diagnosis? {
        guard check?["name"]?.stringValue?.isExactly("notifications") == true,
            let warning = check?["warning"]?.stringValue,
            // The configuration's check already reports an empty key.
            !configuration.apple.bundleIDs.isEmpty || !warning.contains("will be refused")
        else { return nil }
        return .wrong(
            .notificationRefused, warning + ".",
            next: "If that app is your team's primary App ID, or an app grouped with it, add it to apple.bundleIDs and "
                + "restart bramley serve. Never add another team's app: its owner could sign in here.")
    }
}

/// When Apple last sent a notification.
enum NotificationExamination {
    /// How many ended sessions are examined.
    private static let endings = 1000

    static func run(_ database: Database?, configuration: Configuration, at now: Timestamp) async -> [Diagnosis] {
        guard let database else { return [] }
        let latest: RecordedNotification?
        let ended: JournalEntry?
        do {
            latest = try await database.notifications(outcome: nil, after: nil, limit: 1).items.first
            ended = try await database.lastEvents(JournalFilter(kinds: [.sessionEnded]), limit: endings).entries.last {
                $0.cause == .tokenDead
            }
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "The notifications cannot be read: \(error.text).",
                    next: configuration.storage.advice)
            ]
        }
        let told =
            latest.map { latest in
                let age = words(max(0, (now.milliseconds - latest.receivedAt.milliseconds) / 1000))
                return "Apple's last notification came \(age) ago, at \(latest.receivedAt.rfc3339)."
            } ?? "Apple has sent no notification in the last 30 days. It sends one when somebody stops using the site."
        // The daily check found what a notification should have reported.
        guard let ended, latest.map({ $0.receivedAt < ended.time }) ?? true else {
            return [.good(.lastNotification, told)]
        }
        return [
            .unsure(
                .noNotification,
                told + " The daily check ended a session at \(ended.time.rfc3339) because Apple no longer accepts its "
                    + "token, and no notification has come since.",
                next: "In Apple's portal, Identifiers, the primary App ID, Sign in with Apple: the Server-to-Server "
                    + "Notification Endpoint must be \(configuration.publicURL.notificationURL). If it is, the person may "
                    + "have changed their password, which Apple does not report.")
        ]
    }

    private static func words(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) minutes"
        case ..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }
}
