import Accounts
import HTTP

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
                text: name,
                link: gate.link("/operator/audit", [("q", text), ("type", value?.rawValue)], visit.locale),
                isCurrent: value == kind)
        }
        let list = OperatorList(
            tab: .audit, columns: Self.columns(texts), note: texts["auditNote"],
            search: .init(
                label: texts["auditOf"], button: texts["find"], link: gate.link("/operator/audit", [], visit.locale),
                value: text ?? "", hidden: kind.map { [("type", $0.rawValue)] } ?? []),
            filters: [filter(texts["all"], nil)] + AuditEntry.Kind.allCases.map { filter($0.rawValue, $0) },
            query: [("q", text), ("type", kind?.rawValue)]
        ) { after, limit throws(WebFailure) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return OperatorList.Part(rows: [], next: nil) }
            let page = try await WebFailure.mapping(
                await people.database.auditLog(
                    AuditFilter(kinds: kind.map { [$0] } ?? [], user: user), before: after.flatMap { Int64($0) },
                    limit: limit))
            return OperatorList.Part(rows: page.items.map { Self.row($0, texts) }, next: page.next.map { String($0) })
        }
        return try await list.answer(visit, gate)
    }

    static func columns(_ texts: OperatorTexts) -> [String] {
        ["time", "type", "actor", "about", "network"].map { texts["columns.\($0)"] }
    }

    static func row(_ entry: AuditEntry, _ texts: OperatorTexts) -> [OperatorCell] {
        let actor = [texts.word("actors", entry.actor.rawValue), entry.account ?? entry.apiKey?.rawValue]
        return [
            .moment(entry.time), .code(entry.kind.rawValue), .text(actor.compactMap(\.self).joined(separator: " ")),
            .text([entry.object, entry.reason].compactMap(\.self).joined(separator: ", ")), .text(entry.network),
        ]
    }
}
