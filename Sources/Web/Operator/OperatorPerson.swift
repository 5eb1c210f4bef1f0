import Accounts
import HTTP

/// `/operator/users/{id}`: everything about one person, on one page.
extension OperatorPages {
    /// The newest rows of each table.
    private static let rows = 20

    func person(_ visit: OperatorVisit, _ id: String) async throws(Failure) -> ServerResponse {
        let (id, record) = try await record(visit, id, newest: Self.rows)
        let log = try await database.auditLog(AuditFilter(user: id), before: nil, limit: Self.rows)
        let deliveries = try await database.deliveries(of: id, limit: Self.rows)
        let applications = try await database.applications(of: id, at: visit.now) ?? []
        let user = record.user
        let sections = [
            about(record, visit), sessions(record, visit), self.applications(applications, of: record, visit),
            apple(record, visit),
            notifications(record, visit), events(record, deliveries, visit),
            OperatorSection(
                heading: visit.texts["tabs.audit"],
                table: OperatorTable(
                    auditColumns(visit), try await lines(log.items), visit.texts, empty: "nothing"),
                links: [visit.link(named: "showAll", to: "/operator/audit", [("q", id.rawValue)])]),
        ]
        let title = PersonText.displayName(of: user) ?? visit.texts["noName"]
        return self.page(OperatorPage(tab: .users, title: title, sections: sections), visit)
    }

    /// What the person could download themselves.
    func personExport(_ visit: OperatorVisit, _ id: String) async throws(Failure) -> ServerResponse {
        try requireOwn(visit)
        let (id, record) = try await record(visit, id, newest: 0)
        return try await file(
            AccountExport(record, database, at: visit.now), type: "application/json",
            name: "\(id.rawValue).json", route: "/operator/users/{id}/export")
    }

    private func record(
        _ visit: OperatorVisit, _ id: String, newest count: Int
    ) async throws(Failure) -> (UserID, AccountRecord) {
        guard let id = UserID(parsing: id),
            let record = try await database.accountRecord(of: id, newest: count, at: visit.now)
        else { throw Failure(.notFound) }
        return (id, record)
    }

    private func about(_ record: AccountRecord, _ visit: OperatorVisit) -> OperatorSection {
        let (user, texts, id) = (record.user, visit.texts, record.user.id.rawValue)
        let state: OperatorAction =
            switch user.state {
            case .pending: .approve
            case .active: .disable
            case .disabled: .enable
            }
        let groups = user.groups.map { group -> OperatorCell in
            .link(group, visit.link("/operator/users", [("group", group)]))
        }
        var email: [OperatorCell] = [.text(user.email?.address)]
        if user.email?.isVerified == false { email.append(.tag(texts["unverified"], isGood: false)) }
        if user.email?.isPrivate == true { email.append(.tag(texts["relay"], isGood: true)) }
        if user.emailForwarding == false { email.append(.tag(texts["forwardingOff"], isGood: false)) }
        return OperatorSection(
            heading: texts["about"],
            facts: [
                texts.fact("state", Self.state(user.state, texts)), texts.fact("name", .text(user.name.full)),
                (texts["columns.email"], email), (texts["columns.groups"], groups),
                texts.fact("id", .code(user.id.rawValue)), texts.fact("externalID", .text(user.externalID)),
                texts.fact("since", .moment(user.createdAt)),
                texts.fact("realUser", .text(user.realUserStatus.map { texts.word("realUser", $0.rawValue) })),
                texts.fact("organization", .text(user.organizationID)),
            ],
            links: [
                visit.change(state, id), visit.change(.groups, id), visit.change(.endSessions, id),
                export(of: record, visit), visit.change(.deleteUser, id, isDanger: true),
            ])
    }

    /// The newest rows of a list of the person's, and a link to all of them when there may be more.
    private func section<Item: Sendable>(
        _ heading: String, _ columns: [OperatorColumn<Item>], _ rows: [Item], all: PageValue,
        empty: String = "nothing", _ visit: OperatorVisit
    ) -> OperatorSection {
        OperatorSection(
            heading: visit.texts[heading],
            table: OperatorTable(columns, rows.prefix(Self.rows), visit.texts, empty: empty),
            links: rows.count < Self.rows ? [] : [all])
    }

    private func sessions(_ record: AccountRecord, _ visit: OperatorVisit) -> OperatorSection {
        section(
            "tabs.sessions", Self.sessionColumns(visit) { $0 }, record.sessions,
            all: visit.link(named: "showAll", to: "/operator/sessions", [("q", record.user.id.rawValue)]),
            empty: "noSessions", visit)
    }

    /// A link to the export, for tables without a list of their own.
    private func export(of record: AccountRecord, _ visit: OperatorVisit) -> PageValue {
        visit.link(named: "export", to: "/operator/users/\(record.user.id.rawValue)/export")
    }

    private func applications(
        _ applications: [ConnectedApplication], of record: AccountRecord, _ visit: OperatorVisit
    ) -> OperatorSection {
        section(
            "tabs.clients",
            [
                .init("program") { .link($0.name, visit.link("/operator/clients/\($0.client)")) },
                .init("scopes") {
                    .text(([OpenIDScope.text($0.scopes)] + $0.services.map(\.name)).joined(separator: " · "))
                },
                .init("signedIn") { .moment($0.since) }, .init("lastUsed") { .moment($0.lastUsedAt) },
                .change { visit.action(.endAccess, Self.target(record.user.id, $0.client.rawValue)) },
            ], applications, all: export(of: record, visit), visit)
    }

    private func apple(_ record: AccountRecord, _ visit: OperatorVisit) -> OperatorSection {
        let texts = visit.texts
        let columns: [OperatorColumn<AccountRecord.Identity>] = [
            .init("subject") { .code($0.subject.rawValue) }, .init("team") { .code($0.team.rawValue) },
            .init("consent") {
                let state = $0.credential.state
                let word = texts.strings["account.credential.\(state.rawValue)"]
                return .tag(word, isGood: state == .authorized)
            },
            .init("changed") { .moment($0.credential.changedAt) },
            .init("lastSignIn") { .moment($0.lastSignInAt) },
        ]
        return OperatorSection(
            heading: texts["appleIdentities"],
            table: OperatorTable(columns, record.identities.prefix(Self.rows), texts, empty: "nothing"),
            links: record.identities.count > Self.rows ? [export(of: record, visit)] : [])
    }

    private func notifications(_ record: AccountRecord, _ visit: OperatorVisit) -> OperatorSection {
        let texts = visit.texts
        return section(
            "tabs.notifications",
            [
                .init("received") { .moment($0.receivedAt) }, .init("type") { .code($0.type) },
                .init("outcome") { NotificationOutcome(rawValue: $0.outcome).map(texts.cell) ?? .text($0.outcome) },
            ], record.notifications, all: export(of: record, visit), visit)
    }

    /// The person's events, and those that applications have not received.
    private func events(
        _ record: AccountRecord, _ deliveries: [WaitingDelivery], _ visit: OperatorVisit
    ) -> OperatorSection {
        let texts = visit.texts
        return section(
            "events",
            [
                .init("time") { .moment($0.time) }, .init("type") { .code($0.kind.rawValue) },
                .init("cause") { .text($0.cause?.rawValue ?? $0.fields.joined(separator: ", ")) },
                .init("webhooks") { event in
                    let undelivered = deliveries.filter { $0.event == event.id }.map {
                        texts.text(
                            $0.isDead ? "givenUpAt" : "waitsFor", ["endpoint": WebhookRequest.origin(of: $0.url)])
                    }
                    return .text(undelivered.joined(separator: "; "))
                },
            ], record.events, all: export(of: record, visit), visit)
    }
}
