import Coding
import HTTP
import RelyingParty

/// `GET /api/v1/events`: the journal, read in the order of commits.
struct EventsAPI: Sendable {
    let responses: WebResponses
    let journal: any EventJournal

    func list(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        let query = try APIQuery(request, names: ["after", "limit", "user"])
        let limit = try query.limit()
        var place: EventPlace?
        if let text = query["after"] {
            place = PageCursor.eventPlace(text)
            if place == nil { throw .invalidRequest("after is neither a cursor nor the id of an event") }
        }
        var user: UserID?
        if let text = query["user"] {
            user = UserID(parsing: text)
            if user == nil { throw .invalidRequest("user is no user's id") }
        }
        let page: EventPage?
        do {
            page = try await journal.eventPage(after: place, user: user, limit: limit)
        } catch {
            throw .store(error)
        }
        guard let page else { throw .cursorExpired }
        var writer = JSONWriter(reserving: 256 * (page.items.count + 1))
        writer.beginObject()
        writer.name("items")
        writer.beginArray()
        for entry in page.items { EventDocument.write(entry, to: &writer) }
        writer.endArray()
        writer.member("next", page.next.map { PageCursor.encode($0) })
        writer.endObject()
        return responses.json(writer.bytes)
    }
}
