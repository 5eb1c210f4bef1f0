internal import Accounts
internal import Coding
internal import Sockets
internal import Storage
internal import Web

/// Whether PostgreSQL may lose commits, and whether its clock and this machine's agree.
extension Doctor {
    private static let largestClockDifference: Int64 = 1_000

    /// Nothing for SQLite: it is only opened when it loses nothing.
    func store() -> [Diagnosis] {
        guard let database, database.store.isShared else { return [] }
        do {
            let settings = try database.store.settings()
            let clock = Self.clockProblem(database.store.clockDifference).map { problem in
                Diagnosis.wrong(
                    .databaseClock, problem.prefix(1).uppercased() + problem.dropFirst() + ".",
                    next: "Run a time service on both machines.")
            }
            return [Self.durability(settings), Self.replication(settings), clock].compactMap(\.self)
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "PostgreSQL's settings cannot be read: \(error.text).",
                    next: "Check PostgreSQL's log.")
            ]
        }
    }

    /// - Parameter difference: how far the database's is ahead, in milliseconds; less than a second is no problem.
    static func clockProblem(_ difference: Int64) -> String? {
        let size = abs(difference)
        guard size >= largestClockDifference else { return nil }
        let direction = difference < 0 ? "ahead of" : "behind"
        return "this machine's clock is \(size / 1_000).\(size % 1_000 / 100) s \(direction) the database's"
    }

    static func durability(_ settings: [String: String]) -> Diagnosis? {
        let off = ["fsync", "full_page_writes", "synchronous_commit"].filter { settings[$0] == "off" }
        guard !off.isEmpty else { return nil }
        return .wrong(
            .databaseNotDurable,
            "PostgreSQL confirms writes that a crash may undo: \(off.joined(separator: ", ")) "
                + "\(off.count == 1 ? "is" : "are") off.",
            next: "In postgresql.conf, set \(off.map { "\($0) = on" }.joined(separator: ", ")).")
    }

    static func replication(_ settings: [String: String]) -> Diagnosis? {
        guard let standbys = settings["standbys"].flatMap({ Int($0) }), standbys > 0 else { return nil }
        let waits =
            settings["synchronous_standby_names"]?.isEmpty == false && settings["synchronous_commit"] != "local"
        guard !waits else { return .good(.database, "PostgreSQL confirms a write only when a standby has it too.") }
        return .unsure(
            .replicationAsynchronous,
            "PostgreSQL replicates asynchronously: when a standby takes over, the last writes may be lost. Then people "
                + "who have just signed in must do so again, and sessions that have just ended are accepted again.",
            next: "If that matters, set synchronous_standby_names (and not synchronous_commit = local).")
    }
}

extension Doctor {
    private static let endings = 1000

    func notifications() async -> Diagnosis? {
        guard let database else { return nil }
        let now = clock.now()
        let latest: RecordedNotification?
        let ended: JournalEntry?
        do {
            latest = try await database.notifications(outcome: nil, after: nil, limit: 1).items.first
            ended = try await database.lastEvents(JournalFilter(kinds: [.sessionEnded]), limit: Self.endings).entries
                .last { $0.cause == .tokenDead }
        } catch {
            return .wrong(
                .databaseUnusable, "The notifications cannot be read: \(error).",
                next: configuration.storage.advice)
        }
        let last =
            latest.map { latest in
                let age = Self.words(max(0, (now.milliseconds - latest.receivedAt.milliseconds) / 1000))
                return "Apple's last notification came \(age) ago, at \(latest.receivedAt.rfc3339)."
            } ?? "Apple has sent no notification in the last 30 days. It sends one when somebody stops using the site."
        // The daily check found what a notification should have reported.
        guard let ended, latest.map({ $0.receivedAt < ended.time }) ?? true else {
            return .good(.lastNotification, last)
        }
        return .unsure(
            .noNotification,
            last + " The daily check ended a session at \(ended.time.rfc3339) because Apple no longer accepts its "
                + "token, and no notification has come since.",
            next: "In Apple's portal, Identifiers, the primary App ID, Sign in with Apple: the Server-to-Server "
                + "Notification Endpoint must be \(configuration.web.publicURL.notificationURL). If it is, the person may "
                + "have changed their password, which Apple does not report.")
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

/// The clients of the OpenID provider: whether each can work, and what the database knows of its use.
extension Doctor {
    /// A client without a token this long after its registration may have been forgotten. Seconds.
    private static let patience: Int64 = 86_400

    static func clients(_ database: Database?, _ configuration: Configuration, at now: Timestamp) async -> [Diagnosis] {
        guard let database else { return [] }
        let clients: [OpenIDClient]
        let endpoints: [WebhookEndpoint]
        do {
            clients = try await database.openIDClients().filter { $0.document == nil }
            endpoints = try await database.webhookEndpoints()
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "The OpenID Connect clients cannot be read: \(error).",
                    next: configuration.storage.advice)
            ]
        }
        guard !clients.isEmpty else { return [] }
        let findings = clients.flatMap { client in
            [
                registration(of: client, configuration), redirects(of: client, configuration.web.publicURL),
                use(of: client, at: now),
                logout(of: client, endpoints.first { $0.url == WebhookEndpoint.url(ofClient: client.id.rawValue) }),
            ].compactMap(\.self)
        }
        guard findings.isEmpty else { return findings }
        return [.good(.openIDClient, Quantity.count(clients.count, "client") + ".")]
    }

    /// The rules, or `assertion.audience`, may have been different at registration.
    private static func registration(of client: OpenIDClient, _ configuration: Configuration) -> Diagnosis? {
        let problems = client.problems(audiences: configuration.web.assertionAudiences.map(\.name))
        guard !problems.isEmpty else { return nil }
        return .wrong(
            .openIDClientUnusable, about: client.id.rawValue,
            "It cannot be used: \(problems.map(\.description).joined(separator: "; ")).",
            next: "Change it with bramley clients update, or rename assertion.audience.")
    }

    private static func redirects(of client: OpenIDClient, _ publicURL: PublicURL) -> Diagnosis? {
        let own = publicURL.absolute + "/"
        if let here = client.redirectURIs.first(where: { uri in ownPaths.contains { uri.hasPrefix(own + $0) } }) {
            return .wrong(
                .openIDRedirectUnusable, about: client.id.rawValue,
                "People who sign in are sent to \(here), which is one of Bramley's own pages.",
                next: "Register the application's address with bramley clients update --redirect-uri.")
        }
        let local = client.redirectURIs.first { $0.hasPrefix("http://") }
        guard !client.isPublic, let local, publicURL.isSecure else { return nil }
        return .unsure(
            .openIDRedirectLocal, about: client.id.rawValue,
            "\(local) works only in a browser on the application's machine.",
            next: "For other people, register the application's public address with bramley clients update "
                + "--redirect-uri.")
    }

    private static let ownPaths = ["oidc/", "apple/", "login", "logout", "account", "api/", "static/", ".well-known/"]

    private static func use(of client: OpenIDClient, at now: Timestamp) -> Diagnosis? {
        if let refusedAt = client.lastRefusedAt, client.lastUsedAt.map({ $0 < refusedAt }) ?? true {
            return .wrong(
                .openIDClientRefused, about: client.id.rawValue,
                client.isPublic
                    ? "At \(refusedAt.rfc3339) it sent a secret, but a public client has none."
                    : "At \(refusedAt.rfc3339) it sent a wrong secret, and has received no token since.",
                next: client.isPublic
                    ? "Remove the secret from the application's settings."
                    : "Put the client's secret into the application's settings; bramley clients rotate-secret \(client.id) "
                        + "makes a new one.")
        }
        guard client.lastUsedAt == nil, client.createdAt.adding(seconds: patience) <= now else { return nil }
        return .unsure(
            .openIDClientUnused, about: client.id.rawValue,
            "Registered at \(client.createdAt.rfc3339), it has never received a token.",
            next: "Sign in to the application and compare its settings, or delete it with bramley clients delete "
                + "\(client.id).")
    }

    private static func logout(of client: OpenIDClient, _ endpoint: WebhookEndpoint?) -> Diagnosis? {
        guard let since = endpoint?.failingSince, let failure = endpoint?.lastFailure else { return nil }
        return .wrong(
            .openIDLogoutFailing, about: client.id.rawValue,
            "Since \(since.rfc3339) it has accepted no logout token (\(failure)), so its sessions outlive a sign-out.",
            next:
                "Compare the address with the application's documentation and bramley clients show \(client.id); then run "
                + "bramley webhooks retry --endpoint \(WebhookEndpoint.url(ofClient: client.id.rawValue)).")
    }
}
