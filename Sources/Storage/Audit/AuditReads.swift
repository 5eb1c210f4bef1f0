import Coding
package import RelyingParty

extension Database {
    /// Lines of the audit log, newest first.
    ///
    /// There is no index but the order they were written in, so that a sign-in adds to the end of one table and touches
    /// nothing else: a search reads the log from its end, some ten million lines in a few seconds.
    /// - Parameter before: the `next` of the page before.
    package func auditLog(
        _ filter: AuditFilter, before: Int64?, limit: Int
    ) async throws(StoreError) -> AuditPage {
        let subjects = filter.user.map { auditSubjects.all($0) }
        return try await read { connection in
            var (conditions, arguments): ([String], StatementArguments) = ([], [])
            if let before {
                conditions.append("sequence < ?")
                arguments += [before]
            }
            if let since = filter.since {
                conditions.append("time >= ?")
                arguments += [since.milliseconds]
            }
            if let until = filter.until {
                conditions.append("time < ?")
                arguments += [until.milliseconds]
            }
            if let subjects {
                conditions.append("subject IN (\(subjects.map { _ in "?" }.joined(separator: ", ")))")
                for subject in subjects { arguments += [subject] }
            }
            if !filter.kinds.isEmpty {
                conditions.append("type IN (\(filter.kinds.map { _ in "?" }.joined(separator: ", ")))")
                for kind in filter.kinds.map(\.rawValue).sorted() { arguments += [kind] }
            }
            arguments += [limit + 1]
            let clause = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
            let rows = try connection.rows(
                """
                SELECT sequence, time, type, actor, subject, reason, object, api_key, network, account FROM audit
                \(clause)
                ORDER BY sequence DESC LIMIT ?
                """, arguments)
            // One more than asked for tells whether there is another page.
            let items = try rows.prefix(limit).map { try AuditEntry(row: $0) }
            return AuditPage(items: items, next: rows.count > limit ? items.last?.sequence : nil)
        }
    }
}

extension AuditEntry {
    fileprivate init(row: Row) throws(StoreError) {
        self.init(
            sequence: row[0] as Int64? ?? 0, time: try row.moment(1), kind: try row.value(2), actor: try row.value(3),
            subject: row[4] as [UInt8]?, reason: row[5] as String?, object: row[6] as String?,
            apiKey: (row[7] as String?).map { APIKeyID(unchecked: $0) }, network: row[8] as String?,
            account: row[9] as String?)
    }
}
