import Coding
package import Storage

// `UserDirectory`'s reads.
extension Database {
    /// The user with the identity they were created with, or have moved to since; nil when unknown.
    package func user(_ id: UserID) async throws(StoreError) -> User? {
        try await lookUp { snapshot in try snapshot.user(id) }
    }

    package func user(externalID: String) async throws(StoreError) -> User? {
        try await lookUp { snapshot in
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

    /// At most `limit` users after `cursor`.
    package func users(
        _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        var (found, next): ([User], UserCursor?) = ([], cursor)
        // Each piece is a read of its own: others need not wait for all of them.
        for _ in 0..<UserChoice.pieces {
            let (after, rest) = (next, limit - found.count)
            let page = try await read { snapshot in
                guard let choice = try UserChoice(filter, after: after, on: snapshot) else {
                    return UserPage(items: [], next: nil)
                }
                return try choice.page(limit: rest, on: snapshot)
            }
            found += page.items
            next = page.next
            if next == nil || found.count >= limit { break }
        }
        return UserPage(items: found, next: next)
    }

    /// These people, as far as they exist.
    package func users(_ ids: Set<UserID>) async throws(StoreError) -> [UserID: User] {
        try await read { snapshot in
            let users = try snapshot.rows(
                "\(User.all) WHERE u.id IN (SELECT value FROM json_each(?))", [TextList(ids.map(\.rawValue))]
            ).map { try User($0) }
            return Dictionary(users.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        }
    }
}
