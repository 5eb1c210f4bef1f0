import Coding
package import RelyingParty

extension Database {
    /// Lines of the audit log, newest first.
    ///
    /// A person and a type are found by their indexes. A search by time alone reads the log from its end, some ten million
    /// lines in a few seconds.
    /// - Parameter before: the `next` of the previous page.
    package func auditLog(
        _ filter: AuditFilter, before: Int64?, limit: Int
    ) async throws(StoreError) -> AuditPage {
        try await read { snapshot in
            var wanted = Conditions()
            if let before { wanted.add("sequence < ?", [before]) }
            if let since = filter.since { wanted.add("time >= ?", [since]) }
            if let until = filter.until { wanted.add("time < ?", [until]) }
            if let user = filter.user { wanted.add("subject", in: snapshot.context.auditSubjects.all(user)) }
            wanted.add("type", in: filter.kinds.sorted { $0.rawValue < $1.rawValue })
            let (items, isLast) = try snapshot.page(
                """
                SELECT sequence, time, type, actor, subject, reason, object, api_key, network, account FROM audit
                \(wanted.clause)
                ORDER BY sequence DESC LIMIT ?
                """, wanted.arguments, limit: limit
            ) { try AuditEntry($0) }
            return AuditPage(items: items, next: isLast ? nil : items.last?.sequence)
        }
    }
}

extension AuditEntry {
    fileprivate init(_ row: Row) throws(StoreError) {
        self.init(
            sequence: try row["sequence"], time: try row["time"], kind: try row["type"], actor: try row["actor"],
            subject: try row["subject"], reason: try row["reason"], object: try row["object"],
            apiKey: try row["api_key"], network: try row["network"], account: try row["account"])
    }
}
