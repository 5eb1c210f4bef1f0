import Accounts
import Coding
import HTTP

/// `GET /api/v1/events`: the journal, read in the order of commits.
extension WebRoutes {
    func events(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let query = try APIQuery(request, names: ["after", "limit", "user"], lists: ["type"])
        let limit = try query.limit()
        let place = try query.place(.events, "after is neither a cursor nor the id of an event")
        var filter = JournalFilter(kinds: try Self.kinds(query))
        if let text = query["user"] {
            filter.user = UserID(parsing: text)
            if filter.user == nil { throw .invalidRequest("user is not a user id") }
        }
        guard let page = try await database.eventPage(filter, after: place, limit: limit) else {
            throw Failure(.cursorExpired)
        }
        return try await responses.list(
            page.items, next: page.next.map(Places.events.text), route: "/api/v1/events"
        ) { $0.write(to: &$1) }
    }

    /// `type`, any number of times; none selects all. A misspelt one is refused: it would hide what its reader needs.
    private static func kinds(_ query: APIQuery) throws(Failure) -> Set<JournalEntry.Kind> {
        var kinds: Set<JournalEntry.Kind> = []
        for text in query.list("type") {
            guard let kind = JournalEntry.Kind.allCases.first(where: { $0.rawValue.isExactly(text) }) else {
                throw .invalidRequest(
                    "type is not one of \(JournalEntry.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            kinds.insert(kind)
        }
        return kinds
    }
}
