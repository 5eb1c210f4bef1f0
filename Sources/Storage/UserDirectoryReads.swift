import Coding
package import RelyingParty

/// Users joined with the identity they were created by, or have moved to since: one row each, however many identities they have.
enum UserQuery {
    static let one = """
        SELECT \(UserColumns.list) FROM user u JOIN apple_identity i ON i.user = u.id \
        AND i.id = (SELECT id FROM apple_identity WHERE user = u.id ORDER BY moved_to IS NOT NULL, id LIMIT 1)
        """

    /// By team and subject; the identity's row follows the user's columns.
    static let ofIdentity = """
        SELECT \(UserColumns.list), i.id FROM apple_identity i JOIN user u ON u.id = i.user
        WHERE i.team = ? AND i.subject = ?
        """

    static let byID = "\(one) WHERE u.id = ?"
}

// Looking people up: `UserDirectory`'s reads.
extension Database {
    package func user(_ id: UserID) async throws(StoreError) -> User? {
        try await read { connection in try connection.user(id) }
    }

    package func user(externalID: String) async throws(StoreError) -> User? {
        try await read { connection in
            try connection.firstRow("\(UserQuery.one) WHERE u.external_id = ?", [externalID]).map { try User(row: $0) }
        }
    }

    package func user(team: TeamID, subject: AppleSubject) async throws(StoreError) -> User? {
        try await read { connection in
            guard let identity = try connection.identity(team: team, subject: subject) else { return nil }
            let id = try connection.firstRow("SELECT user FROM apple_identity WHERE id = ?", [identity])
            return try id.map { UserID(unchecked: try $0.text(0)) }.flatMap { try connection.user($0) }
        }
    }

    package func users(
        _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        try await read { connection in
            var conditions: [String] = []
            var arguments = StatementArguments()
            if let cursor {
                conditions.append("(u.created_at, u.id) > (?, ?)")
                arguments += [cursor.createdAt.milliseconds, cursor.id.rawValue]
            }
            if let state = filter.state {
                conditions.append("u.state = ?")
                arguments += [state.rawValue]
            }
            if let group = filter.group {
                conditions.append("EXISTS (SELECT 1 FROM json_each(u.groups) g WHERE g.value = ?)")
                arguments += [group]
            }
            if let email = filter.email {
                conditions.append("u.email = ? COLLATE NOCASE")
                arguments += [email]
            }
            arguments += [limit + 1]
            let condition = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
            let rows = try connection.rows(
                "\(UserQuery.one) \(condition) ORDER BY u.created_at, u.id LIMIT ?", arguments)
            // One more than asked for tells whether there is another page.
            let items = try rows.prefix(limit).map { try User(row: $0) }
            let last = rows.count > limit ? items.last : nil
            return UserPage(items: items, next: last.map { UserCursor(createdAt: $0.createdAt, id: $0.id) })
        }
    }
}
