import Accounts
import HTTP
import HTTPTypes

/// `/operator/users/{id}`: everything about one person, on one page.
struct OperatorPerson: Sendable {
    let people: OperatorPeople
    private var gate: OperatorGate { people.gate }
    /// The newest rows of each table.
    private static let rows = 20

    init(people: OperatorPeople) { self.people = people }

    func page(_ visit: OperatorGate.Visit, _ id: String) async throws(WebFailure) -> ServerResponse {
        let (id, record) = try await record(visit, id, newest: Self.rows)
        let log = try await WebFailure.mapping(
            await people.database.auditLog(AuditFilter(user: id), before: nil, limit: Self.rows))
        let deliveries = try await WebFailure.mapping(await people.database.deliveries(of: id, limit: Self.rows))
        let user = record.user
        let sections = [
            about(record, visit), sessions(record, visit), programs(record, visit), apple(record, visit),
            notifications(record, visit), events(record, deliveries, visit),
            OperatorSection(
                heading: visit.texts["tabs.audit"],
                table: OperatorTable(
                    columns: OperatorAudit.columns(visit.texts),
                    rows: log.items.map { OperatorAudit.row($0, visit.texts) },
                    empty: visit.texts["nothing"]),
                links: [
                    .init(
                        text: visit.texts["showAll"],
                        link: gate.link("/operator/audit", [("q", id.rawValue)], visit.locale))
                ]),
        ]
        let title = PersonText.displayName(of: user) ?? visit.texts["noName"]
        return gate.page(OperatorPage(tab: .users, title: title, sections: sections), visit)
    }

    /// What the person could download themselves.
    func export(_ visit: OperatorGate.Visit, _ id: String) async throws(WebFailure) -> ServerResponse {
        try gate.requireOwn(visit)
        let (id, record) = try await record(visit, id, newest: 0)
        return try await gate.file(
            ExportDocument(export: AccountExport(record, people.database, at: visit.now)), type: "application/json",
            name: "\(id.rawValue).json", route: "/operator/users/{id}/export")
    }

    private func record(
        _ visit: OperatorGate.Visit, _ id: String, newest count: Int
    ) async throws(WebFailure) -> (UserID, AccountRecord) {
        guard let id = UserID(parsing: id),
            let record = try await WebFailure.mapping(
                await people.database.accountRecord(of: id, newest: count, at: visit.now))
        else {
            throw .routing(.notFound)
        }
        return (id, record)
    }

    // MARK: Sections

    private func about(_ record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection {
        let (user, texts) = (record.user, visit.texts)
        func change(_ action: OperatorAction) -> OperatorSection.Link {
            .init(
                text: texts["actions.\(action)"],
                link: gate.link(
                    "/operator/change", [("action", action.rawValue), ("target", user.id.rawValue)], visit.locale),
                isDanger: action == .deleteUser)
        }
        let state: OperatorAction =
            switch user.state {
            case .pending: .approve
            case .active: .disable
            case .disabled: .enable
            }
        let groups = user.groups.map { group -> OperatorCell in
            .link(group, gate.link("/operator/users", [("group", group)], visit.locale))
        }
        func fact(_ key: String, _ cells: OperatorCell...) -> (label: String, cells: [OperatorCell]) {
            (texts["columns.\(key)"], cells)
        }
        var email: [OperatorCell] = [.text(user.email?.address)]
        if user.email?.isVerified == false { email.append(.tag(texts["unverified"], isGood: false)) }
        if user.email?.isPrivate == true { email.append(.tag(texts["relay"], isGood: true)) }
        if user.emailForwarding == false { email.append(.tag(texts["forwardingOff"], isGood: false)) }
        return OperatorSection(
            heading: texts["about"],
            facts: [
                fact("state", OperatorPeople.state(user.state, texts)), fact("name", .text(user.name.full)),
                (texts["columns.email"], email), (texts["columns.groups"], groups), fact("id", .code(user.id.rawValue)),
                fact("externalID", .text(user.externalID)), fact("since", .moment(user.createdAt)),
                fact("realUser", .text(user.realUserStatus.map { texts.word("realUser", $0.rawValue) })),
            ],
            links: [
                change(state), change(.groups), change(.endSessions), export(of: record, visit), change(.deleteUser),
            ])
    }

    private func sessions(_ record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection {
        OperatorSection(
            heading: visit.texts["tabs.sessions"],
            table: OperatorTable(
                columns: OperatorSessions.columns(visit.texts),
                rows: record.sessions.map { OperatorSessions.row($0, gate, visit) }, empty: visit.texts["noSessions"]),
            links: rest(
                of: record.sessions.count, visit,
                .init(
                    text: visit.texts["showAll"],
                    link: gate.link("/operator/sessions", [("q", record.user.id.rawValue)], visit.locale))))
    }

    /// The link below a table that shows the newest rows, when there may be more of them.
    private func rest(
        of count: Int, _ visit: OperatorGate.Visit, _ link: OperatorSection.Link
    ) -> [OperatorSection.Link] { count < Self.rows ? [] : [link] }

    /// Everything, for what has no list of its own.
    private func export(of record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection.Link {
        .init(
            text: visit.texts["export"],
            link: gate.link("/operator/users/\(record.user.id.rawValue)/export", [], visit.locale))
    }

    private func programs(_ record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection {
        let texts = visit.texts
        return OperatorSection(
            heading: texts["tabs.clients"],
            table: OperatorTable(
                columns: ["program", "scopes", "signedIn", "expires"].map { texts["columns.\($0)"] },
                rows: record.programs.map { program in
                    [
                        .link(program.clientID, gate.link("/operator/clients/\(program.clientID)", [], visit.locale)),
                        .text(program.scopes.joined(separator: " ")), .moment(program.signedInAt),
                        .moment(program.expiresAt),
                    ]
                }, empty: texts["nothing"]), links: rest(of: record.programs.count, visit, export(of: record, visit)))
    }

    private func apple(_ record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection {
        let texts = visit.texts
        return OperatorSection(
            heading: texts["appleIdentities"],
            table: OperatorTable(
                columns: ["subject", "team", "consent", "changed", "lastSignIn"].map { texts["columns.\($0)"] },
                rows: record.identities.prefix(Self.rows).map { identity in
                    let state = identity.credential.state
                    let word = visit.texts.strings?["account.credential.\(state.rawValue)"] ?? state.rawValue
                    return [
                        .code(identity.subject.rawValue), .code(identity.team.rawValue),
                        .tag(word, isGood: state == .authorized), .moment(identity.credential.changedAt),
                        .moment(identity.lastSignInAt),
                    ]
                }, empty: texts["nothing"]),
            links: rest(of: record.identities.count - 1, visit, export(of: record, visit)))
    }

    private func notifications(_ record: AccountRecord, _ visit: OperatorGate.Visit) -> OperatorSection {
        let texts = visit.texts
        return OperatorSection(
            heading: texts["tabs.notifications"],
            table: OperatorTable(
                columns: ["received", "type", "outcome"].map { texts["columns.\($0)"] },
                rows: record.notifications.map {
                    [.moment($0.receivedAt), .code($0.type), .text(texts.word("outcomes", $0.outcome))]
                }, empty: texts["nothing"]),
            links: rest(of: record.notifications.count, visit, export(of: record, visit)))
    }

    /// What happened, and which of it applications have not received.
    private func events(
        _ record: AccountRecord, _ deliveries: [WaitingDelivery], _ visit: OperatorGate.Visit
    ) -> OperatorSection {
        let texts = visit.texts
        return OperatorSection(
            heading: texts["events"],
            table: OperatorTable(
                columns: ["time", "type", "cause", "webhooks"].map { texts["columns.\($0)"] },
                rows: record.events.map { event in
                    let undelivered = deliveries.filter { $0.event == event.id }.map { delivery in
                        let key = delivery.isDead ? "givenUpAt" : "waitsFor"
                        return texts.text(key, ["endpoint": WebhookRequest.origin(of: delivery.url)])
                    }
                    return [
                        .moment(event.time), .code(event.kind.rawValue),
                        .text(event.cause?.rawValue ?? event.fields.joined(separator: ", ")),
                        .text(undelivered.joined(separator: "; ")),
                    ]
                }, empty: texts["nothing"]), links: rest(of: record.events.count, visit, export(of: record, visit)))
    }
}
