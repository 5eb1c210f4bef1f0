import Accounts
import HTTP

/// `/operator/audit`: the audit log.
extension OperatorPages {
    func audit(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let text = try parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        let kind = try parameter("type", visit).flatMap { AuditEntry.Kind(rawValue: $0) }
        func filter(_ name: String, _ value: AuditEntry.Kind?) -> PageValue {
            .link(
                name, to: visit.link("/operator/audit", [("q", text), ("type", value?.rawValue)]),
                isCurrent: value == kind)
        }
        let list = OperatorList(
            tab: .audit, columns: Self.auditColumns(texts), places: .audit, note: texts["auditNote"],
            search: .search(
                texts["auditOf"], button: texts["find"], to: visit.link("/operator/audit"), text ?? "",
                hidden: kind.map { [("type", $0.rawValue)] } ?? []),
            filters: [filter(texts["all"], nil)] + AuditEntry.Kind.allCases.map { filter($0.rawValue, $0) },
            query: [("q", text), ("type", kind?.rawValue)]
        ) { (place, limit) async throws(Failure) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return Page() }
            return try await database.auditLog(
                AuditFilter(kinds: kind.map { [$0] } ?? [], user: user), before: place, limit: limit)
        }
        return try await list.answer(visit, self)
    }

    static func auditColumns(_ texts: OperatorTexts) -> [OperatorColumn<AuditEntry>] {
        [
            .init("time") { .moment($0.time) }, .init("type") { .code($0.kind.rawValue) },
            .init("actor") { entry in
                let actor = [texts.word("actors", entry.actor.rawValue), entry.account ?? entry.apiKey?.rawValue]
                return .text(actor.compactMap(\.self).joined(separator: " "))
            },
            .init("about") { .text([$0.object, $0.reason].compactMap(\.self).joined(separator: ", ")) },
            .init("network") { .text($0.network) },
        ]
    }
}
