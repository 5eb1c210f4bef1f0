import Coding
package import RelyingParty

// `UserDirectory`'s reads.
extension Database {
    package func user(_ id: UserID) async throws(StoreError) -> User? {
        try await read { snapshot in try snapshot.user(id) }
    }

    package func user(externalID: String) async throws(StoreError) -> User? {
        try await read { snapshot in
            try snapshot.firstRow("\(User.all) WHERE u.external_id = ?", [externalID]).map { try User($0) }
        }
    }

    package func user(team: TeamID, subject: AppleSubject) async throws(StoreError) -> User? {
        try await read { snapshot in
            guard let identity = try snapshot.identity(team: team, subject: subject) else { return nil }
            let id: UserID? = try snapshot.value("SELECT user FROM apple_identity WHERE id = ?", [identity])
            return try id.flatMap { try snapshot.user($0) }
        }
    }

    package func users(
        _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        try await read { snapshot in
            var wanted = Conditions()
            if let cursor { wanted.add("(u.created_at, u.id) > (?, ?)", [cursor.createdAt, cursor.id]) }
            if let state = filter.state { wanted.add("u.state = ?", [state]) }
            if let group = filter.group {
                wanted.add("EXISTS (SELECT 1 FROM json_each(u.groups) g WHERE g.value = ?)", [group])
            }
            if let email = filter.email {
                wanted.add("u.email IS NOT NULL AND lower(u.email) = ?", [lowercased(email)])
            }
            let (items, isLast) = try snapshot.page(
                "\(User.all) \(wanted.clause) ORDER BY u.created_at, u.id LIMIT ?", wanted.arguments, limit: limit
            ) { try User($0) }
            let last = isLast ? nil : items.last
            return UserPage(items: items, next: last.map { UserCursor(createdAt: $0.createdAt, id: $0.id) })
        }
    }

    /// Finds people by address, only for display: an address proves nothing and may belong to several people.
    /// - Returns: at most `limit` users with this address, ignoring ASCII case, oldest first.
    package func users(email: String, limit: Int) async throws(StoreError) -> [User] {
        try await read { snapshot in
            try snapshot.rows(
                "\(User.all) WHERE u.email IS NOT NULL AND lower(u.email) = ? ORDER BY u.created_at, u.id LIMIT ?",
                [lowercased(email), limit]
            ).map { try User($0) }
        }
    }
}

/// As the index user_email has it: ASCII letters alone.
private func lowercased(_ email: String) -> String {
    String(decoding: email.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
}
