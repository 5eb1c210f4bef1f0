import Accounts
import Coding
import Crypto
import HTTP

/// `/operator/clients`: the programs that sign people in by OpenID Connect.
struct OperatorClients: Sendable {
    let gate: OperatorGate
    let provider: OpenIDProvider
    /// Of assertions.
    let audiences: [String]

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        let clients = try await WebFailure.mapping(await provider.database.openIDClients())
        let list = OperatorList(
            tab: .clients,
            columns: ["program", "id", "groups", "lastUsed", "lastRefused", "created"].map { texts["columns.\($0)"] },
            links: [.init(text: texts["actions.addClient"], link: change(.addClient, "", visit))]
        ) { after, limit throws(WebFailure) in
            let start = after.flatMap { Int($0) }.map { max(0, $0) } ?? 0
            let rows = clients.dropFirst(start).prefix(limit)
            return OperatorList.Part(
                rows: rows.map { client in
                    [
                        .link(client.name, gate.link("/operator/clients/\(client.id)", [], visit.locale)),
                        .code(client.id.rawValue), .text(client.groups.joined(separator: ", ")),
                        .moment(client.lastUsedAt), .moment(client.lastRefusedAt), .moment(client.createdAt),
                    ]
                }, next: start + rows.count < clients.count ? String(start + limit) : nil)
        }
        return try await list.answer(visit, gate)
    }

    func page(_ visit: OperatorGate.Visit, _ id: String) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        guard let id = OpenIDClientID(parsing: id),
            let client = try await WebFailure.mapping(await provider.database.openIDClient(id))
        else { throw .routing(.notFound) }
        func fact(_ key: String, _ cells: [OperatorCell]) -> (label: String, cells: [OperatorCell]) {
            (texts["columns.\(key)"], cells)
        }
        let usage = [
            fact("lastUsed", [.moment(client.lastUsedAt)]), fact("lastRefused", [.moment(client.lastRefusedAt)]),
        ]
        let section = OperatorSection(
            heading: texts["about"],
            facts: [
                fact("id", [.code(client.id.rawValue)]),
                fact("kind", [.text(texts[client.isPublic ? "publicClient" : "confidentialClient"])]),
                fact("redirectURIs", client.redirectURIs.map { .code($0) }),
                fact("logoutURIs", client.logoutURIs.map { .code($0) }),
                fact("backChannel", client.backChannelLogoutURI.map { [.code($0)] } ?? []),
                fact("scopes", [.text(OpenIDScope.text(client.scopes))]),
                fact(
                    "groups",
                    [.text(client.groups.isEmpty ? texts["everybody"] : client.groups.joined(separator: ", "))]),
                fact("formerSecret", [.moment(client.secrets?.formerUntil)]),
                fact("created", [.moment(client.createdAt)]),
            ] + usage,
            links: [.init(text: texts["actions.editClient"], link: change(.editClient, id.rawValue, visit))]
                + (client.isPublic
                    ? []
                    : [.init(text: texts["actions.rotateSecret"], link: change(.rotateSecret, id.rawValue, visit))])
                + [
                    .init(
                        text: texts["actions.deleteClient"], link: change(.deleteClient, id.rawValue, visit),
                        isDanger: true)
                ])
        return gate.page(OperatorPage(tab: .clients, title: client.name, sections: [section]), visit)
    }

    private func change(_ action: OperatorAction, _ target: String, _ visit: OperatorGate.Visit) -> String {
        gate.link(
            "/operator/change", [("action", action.rawValue), ("target", target.isEmpty ? nil : target)], visit.locale)
    }

    // MARK: Changes

    static let fields =
        ["clientID", "clientName", "public", "redirectURIs", "logoutURIs", "backChannel", "clientGroups", "pkce"]
        + OpenIDScope.allCases.map { "scope \($0.rawValue)" }

    func target(
        of action: OperatorAction, _ target: String, _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorChanges.Target? {
        if action == .addClient { return .init(name: "", fields: fields(nil, visit.texts)) }
        guard let id = OpenIDClientID(parsing: target),
            let client = try await WebFailure.mapping(await provider.database.openIDClient(id))
        else { return nil }
        return .init(name: client.name, fields: action == .editClient ? fields(client, visit.texts) : [])
    }

    private func fields(_ client: OpenIDClient?, _ texts: OperatorTexts) -> [OperatorForm.Field] {
        typealias Field = OperatorForm.Field
        func lines(_ name: String, _ values: [String]) -> Field {
            Field(
                kind: .lines, name: name, label: texts["columns.\(name)"], value: values.joined(separator: "\n"),
                hint: texts["onePerLine"])
        }
        var fields: [Field] = []
        if client == nil {
            fields.append(
                Field(kind: .line, name: "clientID", label: texts["columns.id"], hint: texts["clientIDHint"]))
        }
        fields += [
            Field(kind: .line, name: "clientName", label: texts["columns.name"], value: client?.name ?? ""),
            Field(
                kind: .tick, name: "public", label: texts["publicClient"], isTicked: client?.isPublic ?? false,
                hint: texts["publicHint"]),
            lines("redirectURIs", client?.redirectURIs ?? []), lines("logoutURIs", client?.logoutURIs ?? []),
            Field(
                kind: .line, name: "backChannel", label: texts["columns.backChannel"],
                value: client?.backChannelLogoutURI ?? ""),
            Field(
                kind: .line, name: "clientGroups", label: texts["columns.groups"],
                value: client?.groups.joined(separator: ", ") ?? "", hint: texts["clientGroupsHint"]),
            Field(kind: .tick, name: "pkce", label: texts["pkce"], isTicked: client?.requiresPKCE ?? false),
        ]
        let scopes = client?.scopes ?? OpenIDScope.usual
        return fields
            + OpenIDScope.allCases.filter { $0 != .openid }.map {
                Field(
                    kind: .tick, name: "scope \($0.rawValue)", label: "\(texts["columns.scopes"]): \($0.rawValue)",
                    isTicked: scopes.contains($0))
            }
    }

    func perform(
        _ action: OperatorAction, _ target: String, _ form: [String: String], _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorOutcome {
        let text = action == .addClient ? form["clientID"] ?? "" : target
        guard let id = OpenIDClientID(parsing: text) else {
            return .refused(problem: action == .addClient ? "clientID" : "gone")
        }
        let known = try await WebFailure.mapping(await provider.database.openIDClient(id))
        if action == .addClient, known != nil { return .refused(problem: "clientTaken") }
        guard action == .addClient || known != nil else { return .refused(problem: "gone") }
        let (secret, now) = (OpenIDClientSecret.make(random: gate.random), visit.now)
        switch action {
        case .deleteClient:
            _ = try await write(id, now) { _ in nil }
            return .done(path: "/operator/clients")
        case .rotateSecret:
            let after = try await write(id, now) { client in
                guard var client, !client.isPublic else { return client }
                client.replaceSecret(
                    by: secret.hash, keepingOldUntil: now.adding(seconds: ClientRegistration.keepOld), at: now)
                return client
            }
            return after?.secrets?.current == secret.hash ? shown(id, secret, visit) : .refused(problem: "gone")
        default: return try await register(id, form, secret, isNew: action == .addClient, visit)
        }
    }

    private func register(
        _ id: OpenIDClientID, _ form: [String: String], _ secret: OpenIDClientSecret, isNew: Bool,
        _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorOutcome {
        func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
        let backChannel = form["backChannel"] ?? ""
        let name = form["clientName"] ?? ""
        let object = JSONObject([
            ("name", .string(name.isEmpty ? id.rawValue : name)), ("public", .bool(form["public"] != nil)),
            ("redirectURIs", texts(PlainLine.lines(form["redirectURIs"] ?? ""))),
            ("logoutURIs", texts(PlainLine.lines(form["logoutURIs"] ?? ""))),
            ("backChannelLogoutURI", backChannel.isEmpty ? .null : .string(backChannel)),
            ("groups", texts(PlainLine.list(form["clientGroups"] ?? ""))), ("requirePKCE", .bool(form["pkce"] != nil)),
            (
                "scopes",
                .array(OpenIDScope.allCases.filter { form["scope \($0.rawValue)"] != nil }.map { .string($0.rawValue) })
            ),
        ])
        let wanted: ClientRegistration
        do throws(RegistrationError) {
            wanted = try ClientRegistration(object, of: id)
        } catch {
            return .refused(problem: "client", detail: error.text)
        }
        let now = visit.now
        let problems = wanted.client(replacing: nil, secret: nil, by: .page, at: now).problems(audiences: audiences)
        guard problems.isEmpty else {
            return .refused(problem: "client", detail: problems.map(\.description).joined(separator: "; "))
        }
        // Somebody else may have added or deleted it meanwhile: that stays.
        let after = try await write(id, now) { before in
            (before == nil) == isNew
                ? wanted.client(replacing: before, secret: secret.hash, by: .page, at: now) : before
        }
        guard let after else { return .refused(problem: "gone") }
        if after.secrets?.current == secret.hash { return shown(id, secret, visit) }
        return .done(path: "/operator/clients/\(id.rawValue)")
    }

    private func write(
        _ id: OpenIDClientID, _ now: Timestamp, _ change: @escaping @Sendable (OpenIDClient?) -> OpenIDClient?
    ) async throws(WebFailure) -> OpenIDClient? {
        let clients = try await WebFailure.mapping(
            await provider.database.changeOpenIDClients(at: now) { clients in
                clients.filter { $0.id != id } + [change(clients.first { $0.id == id })].compactMap(\.self)
            })
        return clients.first { $0.id == id }
    }

    private func shown(
        _ id: OpenIDClientID, _ secret: OpenIDClientSecret, _ visit: OperatorGate.Visit
    ) -> OperatorOutcome {
        .shown(
            OperatorSection(
                heading: id.rawValue, note: visit.texts["shownOnce"],
                facts: [
                    (visit.texts["columns.id"], [.code(id.rawValue)]),
                    (visit.texts["columns.secret"], [.code(secret.reveal())]),
                ],
                links: [
                    .init(
                        text: visit.texts["tabs.clients"],
                        link: gate.link("/operator/clients/\(id.rawValue)", [], visit.locale))
                ]))
    }
}
