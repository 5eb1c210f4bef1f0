import Accounts
import HTTP
import Storage

/// `/operator/audit`: the audit log.
struct OperatorAudit: Sendable {
    let people: OperatorPeople

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let (gate, texts) = (people.gate, visit.texts)
        let text = try gate.parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        let kind = try gate.parameter("type", visit).flatMap { AuditEntry.Kind(rawValue: $0) }
        func filter(_ name: String, _ value: AuditEntry.Kind?) -> OperatorSection.Link {
            .init(
                text: name, link: visit.link("/operator/audit", [("q", text), ("type", value?.rawValue)]),
                isCurrent: value == kind)
        }
        let list = OperatorList(
            tab: .audit, columns: Self.columns(texts), places: .audit, note: texts["auditNote"],
            search: .init(
                label: texts["auditOf"], button: texts["find"], link: visit.link("/operator/audit"),
                value: text ?? "", hidden: kind.map { [("type", $0.rawValue)] } ?? []),
            filters: [filter(texts["all"], nil)] + AuditEntry.Kind.allCases.map { filter($0.rawValue, $0) },
            query: [("q", text), ("type", kind?.rawValue)]
        ) { (place, limit) async throws(StoreError) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return Page() }
            return try await people.database.auditLog(
                AuditFilter(kinds: kind.map { [$0] } ?? [], user: user), before: place, limit: limit)
        }
        return try await list.answer(visit, gate)
    }

    static func columns(_ texts: OperatorTexts) -> [OperatorColumn<AuditEntry>] {
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
