import Accounts
import Coding
import HTTP

/// `/operator/api-keys`: the keys of applications, made and revoked.
extension OperatorPages {
    /// How many days a key may be valid.
    private static let days: ClosedRange<Int64> = 1...3_650

    func apiKeys(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let keys = try await database.apiKeys()
        let list = OperatorList(
            tab: .apiKeys,
            columns: [
                .init("name") { .text($0.name) },
                .init("state") { key in
                    let state = key.revokedAt != nil ? "revoked" : key.isExpired(at: visit.now) ? "expired" : "valid"
                    return .tag(texts["keyStates.\(state)"], isGood: state == "valid")
                },
                .init("scopes") { .text($0.scopes.map(\.rawValue).joined(separator: ", ")) },
                .init("created") { .moment($0.createdAt) }, .init("lastUsed") { .moment($0.lastUsedAt) },
                .init("expires") { .moment($0.expiresAt) }, .init("id") { .code($0.id.rawValue) },
                .change { $0.revokedAt != nil ? .text(nil) : visit.action(.revokeKey, $0.id.rawValue) },
            ], places: .apiKeys, links: [visit.change(.createKey)]
        ) { place, limit in Page(of: keys.reversed(), after: place, limit: limit, by: \.id.rawValue) }
        return try await list.answer(visit, self)
    }

    static let keyFields = ["keyName", "days"] + APIScope.allCases.map { "scope \($0.rawValue)" }

    func keyTarget(
        of action: OperatorAction, _ target: String, _ visit: OperatorVisit
    ) async throws(Failure) -> Target? {
        let texts = visit.texts
        guard action == .createKey else {
            let keys = try await database.apiKeys()
            return keys.first { $0.id.rawValue.isExactly(target) && $0.revokedAt == nil }.map { .init(name: $0.name) }
        }
        return .init(
            name: "",
            fields: [.init(kind: .line, name: "keyName", label: texts["columns.name"], hint: texts["keyNameHint"])]
                + APIScope.allCases.map { scope in
                    .init(
                        kind: .tick, name: "scope \(scope.rawValue)", label: scope.rawValue,
                        hint: texts["scopeHints.\(scope)"])
                }
                + [.init(kind: .line, name: "days", label: texts["days"], hint: texts["daysHint"])])
    }

    func performKey(
        _ action: OperatorAction, _ target: String, _ form: [String: String], _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        guard action == .createKey else {
            guard let id = APIKeyID(parsing: target), try await database.revokeAPIKey(id, at: visit.now) else {
                return .refused(problem: "gone")
            }
            return .done(path: "/operator/api-keys")
        }
        let name = form["keyName"] ?? ""
        guard APIKey.accepts(name: name) else { return .refused(problem: "keyName") }
        let scopes = APIScope.allCases.filter { form["scope \($0.rawValue)"] != nil }
        guard !scopes.isEmpty else { return .refused(problem: "noScope") }
        var end: Timestamp?
        if let text = form["days"], !text.isEmpty {
            guard let days = Int64(text), Self.days.contains(days) else { return .refused(problem: "days") }
            end = visit.now.adding(seconds: days * 86_400)
        }
        let made = try await database.createAPIKey(
            named: name, scopes: scopes, expiresAt: end, random: routes.random, at: visit.now)
        return visit.shownOnce(name, [("key", .secret(made.token.reveal()))], back: .apiKeys, to: "/operator/api-keys")
    }
}
