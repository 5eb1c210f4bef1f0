import Coding
import Storage

extension Database {
    /// Lines of the audit log, newest first, before the `next` of the previous page. Times have no index, so the log is
    /// read backwards in parts.
    package func auditLog(
        _ filter: AuditFilter, before: Int64?, limit: Int
    ) async throws(Failure) -> Page<AuditEntry, Int64> {
        guard filter.user == nil, filter.since != nil || filter.until != nil else {
            return try await auditLog(filter, before: before, from: nil, limit: limit)
        }
        let (first, last) = try await read { snapshot in
            (
                try snapshot.value("SELECT min(sequence) FROM audit", as: Int64.self) ?? 0,
                try snapshot.value("SELECT max(sequence) FROM audit", as: Int64.self) ?? -1
            )
        }
        var (found, end) = ([AuditEntry](), before ?? last + 1)
        while end > first {
            let from = end - Self.scannedLines
            let page = try await auditLog(filter, before: end, from: from, limit: limit - found.count)
            found += page.items
            // More in this part, or perhaps in the next ones.
            if page.next != nil || found.count == limit {
                return Page(items: found, next: page.next ?? (from > first ? found.last?.sequence : nil))
            }
            end = from
        }
        return Page(items: found)
    }

    /// Lines that one read scans for a time: 5 ms.
    private static let scannedLines: Int64 = 10_000

    private func auditLog(
        _ filter: AuditFilter, before: Int64?, from: Int64?, limit: Int
    ) async throws(Failure) -> Page<AuditEntry, Int64> {
        try await read { snapshot in
            let (sql, arguments) = filter.statement(before: before, from: from, limit: limit, snapshot.context)
            return try snapshot.page(sql, arguments, limit: limit, place: \.sequence) { try AuditEntry($0) }
        }
    }
}

extension AuditFilter {
    /// Selects lines of the audit log, newest first. The caller adds the last parameter, the limit.
    func statement(
        before: Int64?, from: Int64?, limit: Int, _ context: StoreContext
    ) -> (sql: String, arguments: StatementArguments) {
        func select(_ conditions: Conditions) -> String {
            "SELECT sequence, time, type, actor, subject, reason, object, api_key, network, account, person FROM audit "
                + "\(conditions.clause) ORDER BY sequence DESC LIMIT ?"
        }
        let kinds = kinds.sorted { $0.rawValue < $1.rawValue }
        var wanted = Conditions()
        if let before { wanted.add("sequence < ?", [before]) }
        if let from { wanted.add("sequence >= ?", [from]) }
        if let since { wanted.add("time >= ?", [since]) }
        if let until { wanted.add("time < ?", [until]) }
        if let user {
            // A person has few lines.
            wanted.add("subject", in: context.auditSubjects(of: user))
            wanted.add("type", in: kinds)
            return (select(wanted), wanted.arguments)
        }
        let pieces = kinds.map { kind in
            var conditions = wanted
            conditions.add("type = ?", [kind])
            return conditions
        }
        guard pieces.count > 1 else {
            let only = pieces.first ?? wanted
            return (select(only), only.arguments)
        }
        // The index has each type in order: read the newest of each type, then select the newest of those.
        var arguments = StatementArguments()
        for piece in pieces {
            arguments += piece.arguments
            arguments += [limit + 1]
        }
        let union = pieces.map { "SELECT * FROM (\(select($0))) AS lines" }.joined(separator: " UNION ALL ")
        return (union + " ORDER BY sequence DESC LIMIT ?", arguments)
    }
}

extension AuditEntry {
    fileprivate init(_ row: Row) throws(StoreError) {
        sequence = try row["sequence"]
        time = try row["time"]
        kind = try row["type"]
        actor = try row["actor"]
        subject = try row["subject"]
        reason = try row["reason"]
        object = try row["object"]
        apiKey = try row["api_key"]
        network = try row["network"]
        account = try row["account"]
        person = try row["person"]
    }
}
