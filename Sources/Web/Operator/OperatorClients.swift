import Accounts
import Coding
import HTTP

/// `/operator/clients`: the applications that sign people in by OpenID Connect.
extension OperatorPages {
    func clients(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let found = try await database.openIDClients()
        let list = OperatorList(
            tab: .clients,
            columns: [
                .init("program") { .link($0.name, visit.link("/operator/clients/\($0.id)")) },
                .init("id") { .code($0.clientID) },
                .init("groups") { .text($0.groups.joined(separator: ", ")) },
                .init("lastUsed") { .moment($0.lastUsedAt) }, .init("lastRefused") { .moment($0.lastRefusedAt) },
                .init("created") { .moment($0.createdAt) },
            ], places: .clients, links: [visit.change(.addClient)]
        ) { place, limit in Page(of: found, after: place, limit: limit, by: \.id.rawValue) }
        return try await list.answer(visit, self)
    }

    func client(_ visit: OperatorVisit, _ id: String) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        guard let id = OpenIDClientID(parsing: id),
            let client = try await database.openIDClient(id)
        else { throw Failure(.notFound) }
        func fact(_ key: String, _ cells: [OperatorCell]) -> OperatorFact { (texts["columns.\(key)"], cells) }
        let section = OperatorSection(
            heading: texts["about"],
            facts: [
                fact("id", [.code(client.id.rawValue)] + (client.document.map { [.code($0)] } ?? [])),
                fact(
                    "kind",
                    [.text(texts[client.isPublic ? "publicClient" : "confidentialClient"])]
                        + (client.isForeign ? [.tag(texts["asksConsent"], isGood: true)] : [])),
                fact("redirectURIs", client.redirectURIs.map { .code($0) }),
                fact("logoutURIs", client.logoutURIs.map { .code($0) }),
                fact("backChannel", client.backChannelLogoutURI.map { [.code($0)] } ?? []),
                fact("scopes", [.text(OpenIDScope.text(client.scopes))]),
                fact(
                    "groups",
                    [.text(client.groups.isEmpty ? texts["everybody"] : client.groups.joined(separator: ", "))]),
                fact("formerSecret", [.moment(client.secrets?.formerUntil)]),
                fact("created", [.moment(client.createdAt)]), fact("lastUsed", [.moment(client.lastUsedAt)]),
                fact("lastRefused", [.moment(client.lastRefusedAt)]),
            ],
            links: (client.document == nil ? [visit.change(.editClient, id.rawValue)] : [])
                + (client.isPublic ? [] : [visit.change(.rotateSecret, id.rawValue)])
                + [visit.change(.deleteClient, id.rawValue, isDanger: true)])
        return self.page(OperatorPage(tab: .clients, title: client.name, sections: [section]), visit)
    }

    static let clientFields =
        [
            "clientID", "clientName", "public", "redirectURIs", "logoutURIs", "backChannel", "clientGroups", "pkce",
            "consent", "device", "serviceScopes",
        ]
        + OpenIDScope.identity.map { "scope \($0.rawValue)" }

    func clientTarget(
        of action: OperatorAction, _ target: String, _ visit: OperatorVisit
    ) async throws(Failure) -> Target? {
        if action == .addClient { return .init(name: "", fields: try await clientFields(nil, visit.texts)) }
        guard let id = OpenIDClientID(parsing: target),
            let client = try await database.openIDClient(id)
        else { return nil }
        return .init(
            name: client.name, fields: action == .editClient ? try await clientFields(client, visit.texts) : [])
    }

    private func clientFields(
        _ client: OpenIDClient?, _ texts: OperatorTexts
    ) async throws(Failure) -> [OperatorForm.Field] {
        typealias Field = OperatorForm.Field
        func lines(_ name: String, _ values: [String]) -> Field {
            Field(
                kind: .lines, name: name, label: texts["columns.\(name)"], value: values.joined(separator: "\n"),
                hint: texts["onePerLine"])
        }
        var fields: [Field] = []
        if client == nil {
            fields.append(Field(kind: .line, name: "clientID", label: texts["columns.id"], hint: texts["clientIDHint"]))
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
                value: client?.groups.joined(separator: ", ") ?? "", hint: texts["clientGroupsHint"],
                suggestions: try await groupSuggestions()),
            Field(kind: .tick, name: "pkce", label: texts["pkce"], isTicked: client?.requiresPKCE ?? false),
            Field(
                kind: .tick, name: "consent", label: texts["asksConsent"], isTicked: client?.needsConsent ?? false),
            Field(
                kind: .tick, name: "device", label: texts["clientDevice"], isTicked: client?.allowsDevice ?? false,
                hint: texts["clientDeviceHint"]),
        ]
        let scopes = client?.scopes ?? OpenIDScope.usual
        let known = OpenIDScope.ordered(try await database.services().flatMap { $0.scopes.map(\.scope) })
        let others = scopes.filter { !$0.isIdentity }
        if !known.isEmpty || !others.isEmpty {
            fields.append(
                Field(
                    kind: .line, name: "serviceScopes", label: texts["columns.scopes"],
                    value: others.map(\.rawValue).joined(separator: ", "), suggestions: known.map(\.rawValue)))
        }
        return fields
            + OpenIDScope.identity.filter { $0 != .openid }.map {
                Field(
                    kind: .tick, name: "scope \($0.rawValue)", label: "\(texts["columns.scopes"]): \($0.rawValue)",
                    isTicked: scopes.contains($0))
            }
    }

    func performClient(
        _ action: OperatorAction, _ target: String, _ form: [String: String], _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        let clients = routes.registeredClients
        let text = action == .addClient ? form["clientID"] ?? "" : target
        guard let id = OpenIDClientID(parsing: text) else {
            return .refused(problem: action == .addClient ? "clientID" : "gone")
        }
        if action == .deleteClient {
            let client = try await clients.delete(id, at: visit.now)
            return client == nil ? .refused(problem: "gone") : .done(path: "/operator/clients")
        }
        let outcome: ClientOutcome
        if action == .rotateSecret {
            outcome = try await clients.rotateSecret(of: id, at: visit.now)
        } else {
            let wanted: ClientRegistration
            do {
                wanted = try ClientRegistration(Self.registration(of: id, form), of: id)
            } catch {
                return .refused(problem: "client", detail: "\(error)")
            }
            outcome = try await clients.register(wanted, isNew: action == .addClient, by: .page, at: visit.now)
        }
        switch outcome {
        case .saved(_, let secret?, _):
            return visit.shownOnce(
                id.rawValue, [("id", .code(id.rawValue)), ("secret", .secret(secret.reveal()))], back: .clients,
                to: "/operator/clients/\(id.rawValue)")
        case .saved: return .done(path: "/operator/clients/\(id.rawValue)")
        case .unknown, .withoutSecret: return .refused(problem: "gone")
        case .taken: return .refused(problem: "clientTaken")
        case .invalid(let problems):
            return .refused(problem: "client", detail: problems.map(\.description).joined(separator: "; "))
        }
    }

    /// The form's values, in the form that the file and the API use.
    private static func registration(of id: OpenIDClientID, _ form: [String: String]) -> JSONObject {
        let backChannel = form["backChannel"] ?? ""
        let name = form["clientName"] ?? ""
        return JSONObject([
            ("name", .string(name.isEmpty ? id.rawValue : name)), ("public", .bool(form["public"] != nil)),
            ("redirectURIs", .texts(PlainLine.lines(form["redirectURIs"] ?? ""))),
            ("logoutURIs", .texts(PlainLine.lines(form["logoutURIs"] ?? ""))),
            ("backChannelLogoutURI", backChannel.isEmpty ? .null : .string(backChannel)),
            ("groups", .texts(PlainLine.list(form["clientGroups"] ?? ""))), ("requirePKCE", .bool(form["pkce"] != nil)),
            ("consent", .bool(form["consent"] != nil)),
            ("device", .bool(form["device"] != nil)),
            (
                "scopes",
                .texts(
                    OpenIDScope.identity.map(\.rawValue).filter { form["scope \($0)"] != nil }
                        + PlainLine.list(form["serviceScopes"] ?? ""))
            ),
        ])
    }
}
