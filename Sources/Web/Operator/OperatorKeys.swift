import Accounts
import Coding
import Crypto
import HTTP

/// `/operator/api-keys`: the keys of applications, made and revoked.
struct OperatorKeys: Sendable {
    let gate: OperatorGate
    let database: Database
    /// Bytes of a name.
    private static let nameLimit = 100
    /// Days that a key may be valid.
    private static let days: ClosedRange<Int64> = 1...3_650

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        let keys = try await WebFailure.mapping(await database.apiKeys())
        let list = OperatorList(
            tab: .apiKeys,
            columns: ["name", "state", "scopes", "created", "lastUsed", "expires", "id", "change"].map {
                texts["columns.\($0)"]
            }, hasActions: true,
            links: [
                .init(
                    text: texts["actions.createKey"],
                    link: gate.link(
                        "/operator/change", [("action", OperatorAction.createKey.rawValue)], visit.locale))
            ]
        ) { after, limit throws(WebFailure) in
            let start = after.flatMap { Int($0) }.map { max(0, $0) } ?? 0
            let rows = keys.reversed().dropFirst(start).prefix(limit)
            return OperatorList.Part(
                rows: rows.map { row($0, visit) }, next: start + rows.count < keys.count ? String(start + limit) : nil)
        }
        return try await list.answer(visit, gate)
    }

    private func row(_ key: APIKey, _ visit: OperatorGate.Visit) -> [OperatorCell] {
        let texts = visit.texts
        let isExpired = key.isExpired(at: visit.now)
        let state = key.revokedAt != nil ? "revoked" : isExpired ? "expired" : "valid"
        return [
            .text(key.name), .tag(texts["keyStates.\(state)"], isGood: state == "valid"),
            .text(key.scopes.map(\.rawValue).joined(separator: ", ")), .moment(key.createdAt), .moment(key.lastUsedAt),
            .moment(key.expiresAt), .code(key.id.rawValue),
            key.revokedAt != nil
                ? .text(nil)
                : .action(
                    texts["actions.revokeKey"],
                    gate.link(
                        "/operator/change",
                        [("action", OperatorAction.revokeKey.rawValue), ("target", key.id.rawValue)], visit.locale)),
        ]
    }

    // MARK: Changes

    static let fields = ["keyName", "days"] + APIScope.allCases.map { "scope \($0.rawValue)" }

    func target(
        of action: OperatorAction, _ target: String, _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorChanges.Target? {
        let texts = visit.texts
        guard action == .createKey else {
            let keys = try await WebFailure.mapping(await database.apiKeys())
            return keys.first { $0.id.rawValue.isExactly(target) && $0.revokedAt == nil }.map { .init(name: $0.name) }
        }
        return .init(
            name: "",
            fields: [.init(kind: .line, name: "keyName", label: texts["columns.name"], hint: texts["keyNameHint"])]
                + APIScope.allCases.map { .init(kind: .tick, name: "scope \($0.rawValue)", label: $0.rawValue) }
                + [.init(kind: .line, name: "days", label: texts["days"], hint: texts["daysHint"])])
    }

    func perform(
        _ action: OperatorAction, _ target: String, _ form: [String: String], _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorOutcome {
        guard action == .createKey else {
            guard let id = APIKeyID(parsing: target) else { return .refused(problem: "gone") }
            let wasThere = try await WebFailure.mapping(await database.revokeAPIKey(id, at: visit.now))
            return wasThere ? .done(path: "/operator/api-keys") : .refused(problem: "gone")
        }
        let name = form["keyName"] ?? ""
        guard PlainLine.acceptsName(name, maximum: Self.nameLimit) else { return .refused(problem: "keyName") }
        let scopes = APIScope.allCases.filter { form["scope \($0.rawValue)"] != nil }
        guard !scopes.isEmpty else { return .refused(problem: "noScope") }
        var end: Timestamp?
        if let text = form["days"], !text.isEmpty {
            guard let days = Int64(text), Self.days.contains(days) else { return .refused(problem: "days") }
            end = visit.now.adding(seconds: days * 86_400)
        }
        let token = APIKeyToken.make(random: gate.random)
        let key = APIKey(
            id: RandomIdentifier(random: gate.random).make(), name: name, scopes: scopes, createdAt: visit.now,
            expiresAt: end)
        try await WebFailure.mapping(await database.createAPIKey(key, hash: token.hash))
        return .shown(
            OperatorSection(
                heading: name, note: visit.texts["shownOnce"],
                facts: [(visit.texts["columns.key"], [.code(token.reveal())])],
                links: [
                    .init(text: visit.texts["tabs.apiKeys"], link: gate.link("/operator/api-keys", [], visit.locale))
                ]))
    }
}
