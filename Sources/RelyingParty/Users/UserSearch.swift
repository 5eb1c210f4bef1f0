/// Which people a list shows.
package struct UserSearch: Sendable {
    package var filter: UserFilter
    /// A part of the full name, in any case.
    package var name: String?
    /// People read at once while names are compared.
    private static let batch = 1_000

    package init(filter: UserFilter = UserFilter(), name: String? = nil) {
        self.filter = filter
        self.name = name
    }

    /// Like `UserDirectory.users`, oldest first.
    package func read(
        _ directory: any UserDirectory, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        guard let name = name?.lowercased() else {
            return try await directory.users(filter, after: cursor, limit: limit)
        }
        var (found, next): ([User], UserCursor?) = ([], cursor)
        repeat {
            let page = try await directory.users(filter, after: next, limit: Self.batch)
            found += page.items.filter { $0.name.full?.lowercased().contains(name) == true }
            next = page.next
        } while next != nil && found.count <= limit
        let items = Array(found.prefix(limit))
        let last = found.count > limit ? items.last : nil
        return UserPage(items: items, next: last.map { UserCursor(createdAt: $0.createdAt, id: $0.id) })
    }
}
