import Accounts
import Coding
import HTTP

/// A line of the audit log, with the names of the people and things it mentions, if they still exist.
struct AuditLine: Sendable {
    let entry: AuditEntry
    fileprivate let people: [UserID: User]
    fileprivate let keys: [String: String]

    fileprivate var actor: UserID? { entry.account.flatMap { UserID(parsing: $0) } }
}

/// `/operator/audit`: the audit log.
extension OperatorPages {
    func audit(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let text = try parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        // What an operator looks for among all the pages that operators have opened.
        let withoutViews = "without-views"
        let type = try parameter("type", visit)
            .flatMap { $0 == withoutViews ? $0 : AuditEntry.Kind(rawValue: $0)?.rawValue }
        let kinds =
            type == withoutViews
            ? Set(AuditEntry.Kind.allCases).subtracting([.userViewed])
            : Set([type.flatMap { AuditEntry.Kind(rawValue: $0) }].compactMap(\.self))
        func day(_ name: String) throws(Failure) -> (text: String, start: Timestamp)? {
            guard let text = try parameter(name, visit), let start = Timestamp(rfc3339: "\(text)T00:00:00Z") else {
                return nil
            }
            return (text, start)
        }
        let (first, last) = (try day("from"), try day("to"))
        let filter = AuditFilter(
            kinds: kinds, user: user, since: first?.start,
            until: last?.start.adding(seconds: 86_400))
        let list = OperatorList(
            tab: .audit, columns: auditColumns(visit), places: .audit, note: texts["auditNote"],
            search: .search(
                texts["auditOf"], button: texts["find"], to: visit.link("/operator/audit"), text ?? "",
                hidden: visit.language,
                choices: [
                    .choice(
                        "type", texts["columns.type"],
                        [("", texts["all"]), (withoutViews, texts["withoutViews"])], groups: Self.kinds(texts),
                        chosen: type ?? "")
                ],
                dates: [("from", texts["from"], first?.text ?? ""), ("to", texts["to"], last?.text ?? "")]),
            query: [("q", text), ("type", type), ("from", first?.text), ("to", last?.text)]
        ) { (place, limit) async throws(Failure) in
            // Not an id: no lines match.
            if text != nil, user == nil { return Page() }
            let page = try await database.auditLog(filter, before: place, limit: limit)
            return Page(items: try await lines(page.items), next: page.next)
        }
        return try await list.answer(visit, self)
    }

    /// The types by the page that is about their subject.
    static func kinds(_ texts: OperatorTexts) -> [(label: String, options: PageValue.Options)] {
        let subjects: [(tab: OperatorPage.Tab, beginnings: [String])] = [
            (.users, ["user", "consent", "access"]), (.sessions, ["sign_in", "session"]),
            (.clients, ["openid_client", "openid_service"]),
            (.apiKeys, ["api_key"]), (.webhooks, ["webhook", "webhook_secret"]),
            (.server, ["apple_key", "certificate", "sealing_key", "signing_key", "access_rules", "command"]),
        ]
        return subjects.map { tab, beginnings in
            let kinds = AuditEntry.Kind.allCases.map(\.rawValue).filter { kind in
                beginnings.contains { kind == $0 || kind.hasPrefix($0 + ".") }
            }
            return (texts["tabs.\(tab)"], kinds.map { ($0, $0) })
        }
    }

    func lines(_ entries: [AuditEntry]) async throws(Failure) -> [AuditLine] {
        let ids = entries.flatMap { [$0.account.flatMap { UserID(parsing: $0) }, $0.person] }.compactMap(\.self)
        let people = try await database.users(Set(ids))
        let keys = try await database.apiKeys().map { ($0.id.rawValue, $0.name) }
        let names = Dictionary(keys) { $1 }
        return entries.map { AuditLine(entry: $0, people: people, keys: names) }
    }

    func auditColumns(_ visit: OperatorVisit) -> [OperatorColumn<AuditLine>] {
        [
            .init("time") { .moment($0.entry.time) }, .init("type") { .code($0.entry.kind.rawValue) },
            .init("actor") { line in
                let (entry, word) = (line.entry, visit.texts.word("actors", line.entry.actor.rawValue))
                if let id = line.actor { return .several([.text(word), person(line.people[id], id, visit)]) }
                let name = entry.account ?? entry.apiKey.map { line.keys[$0.rawValue] ?? $0.rawValue }
                return .text([word, name].compactMap(\.self).joined(separator: " "))
            },
            .init("about") { line in
                let entry = line.entry
                let rest = [entry.object.map { line.keys[$0] ?? $0 }, entry.reason].compactMap(\.self)
                let whom = entry.person.map { [person(line.people[$0], $0, visit)] } ?? []
                return .several(whom + (rest.isEmpty ? [] : [.text(rest.joined(separator: ", "))]))
            },
            .init("network") { .text($0.entry.network) },
            .init("id", isOnlyInFile: true) { line in
                .text([line.actor, line.entry.person].compactMap { $0?.rawValue }.joined(separator: " "))
            },
        ]
    }
}
