import Coding
import Storage

extension Database {
    /// Lines of the audit log, newest first. Persons and types are found by their indexes; for a time, which has none, the
    /// log is read backwards a piece at a time.
    /// - Parameter before: the `next` of the previous page.
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
            // More in this piece; or perhaps in the next ones.
            if page.next != nil || found.count == limit {
                return Page(items: found, next: page.next ?? (from > first ? found.last?.sequence : nil))
            }
            end = from
        }
        return Page(items: found)
    }

    /// Lines that one read looks through for a time: 5 ms.
    private static let scannedLines: Int64 = 10_000

    private func auditLog(
        _ filter: AuditFilter, before: Int64?, from: Int64?, limit: Int
    ) async throws(Failure) -> Page<AuditEntry, Int64> {
        try await read { snapshot in
            let lines = AuditLines(filter, before: before, from: from, snapshot.context)
            return try snapshot.page(lines.sql, lines.arguments(limit: limit), limit: limit, place: \.sequence) {
                try AuditEntry($0)
            }
        }
    }
}

/// The statement for lines of the audit log.
struct AuditLines {
    private static let columns = "sequence, time, type, actor, subject, reason, object, api_key, network, account"

    private var wanted = Conditions()
    private var kinds: [AuditEntry.Kind]

    init(_ filter: AuditFilter, before: Int64?, from: Int64?, _ context: StoreContext) {
        kinds = filter.kinds.sorted { $0.rawValue < $1.rawValue }
        if let before { wanted.add("sequence < ?", [before]) }
        if let from { wanted.add("sequence >= ?", [from]) }
        if let since = filter.since { wanted.add("time >= ?", [since]) }
        if let until = filter.until { wanted.add("time < ?", [until]) }
        guard let user = filter.user else { return }
        // Of a person there are few.
        wanted.add("subject", in: context.auditSubjects(of: user))
        wanted.add("type", in: kinds)
        kinds = []
    }

    /// Its last parameter is the page's own limit. The index has each type in order: the newest of each, and of those the
    /// newest.
    var sql: String {
        guard kinds.count > 1 else { return Self.select(kinds.isEmpty ? wanted : with("type = ?")) }
        return kinds.map { _ in "SELECT * FROM (\(Self.select(with("type = ?")))) AS lines" }
            .joined(separator: " UNION ALL ") + " ORDER BY sequence DESC LIMIT ?"
    }

    func arguments(limit: Int) -> StatementArguments {
        guard kinds.count > 1 else {
            var arguments = wanted.arguments
            for kind in kinds { arguments += [kind] }
            return arguments
        }
        var arguments = StatementArguments()
        for kind in kinds {
            arguments += wanted.arguments
            arguments += [kind, limit + 1]
        }
        return arguments
    }

    private func with(_ condition: String) -> Conditions {
        var conditions = wanted
        conditions.add(condition, [])
        return conditions
    }

    private static func select(_ conditions: Conditions) -> String {
        "SELECT \(columns) FROM audit \(conditions.clause) ORDER BY sequence DESC LIMIT ?"
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
    }
}
