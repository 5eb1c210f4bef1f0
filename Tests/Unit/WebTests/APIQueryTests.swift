import Coding
import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// Parameters of the API: how a wrong one is refused, and the name every list has for its cursor.
@Suite struct APIQueryTests {
    @Test(
        "A refused parameter is named, with the accepted ones",
        arguments: [
            (
                "/api/v1/users?colour=red",
                "unknown parameter colour; accepted: state, group, email, name, externalID, appleSubject, limit, "
                    + "after, cursor"
            ),
            ("/api/v1/events?types=x", "unknown parameter types; accepted: after, limit, user, type"),
            ("/api/v1/users/USER?expand=1", "unknown parameter expand; accepted: none"),
            ("/api/v1/users/USER?%3Cscript%3E=1", "unknown parameter; accepted: none"),
            (
                "/api/v1/users/USER?brs_0123456789012345678901234567890",
                "unknown parameter; accepted: none"
            ),
            ("/api/v1/users?state=active&state=pending", "state is given twice"),
        ])
    func namesWhatItRefuses(_ target: String, detail: String) async throws {
        let site = try Site.signedIn()
        let key = site.bearer(site.makeKey([.usersRead, .eventsRead]))
        let response = await site.get(target.replacing("USER", with: Site.userID(1).rawValue), key)
        #expect(response.status == .badRequest)
        #expect(response.json?["detail"]?.stringValue == detail)
    }

    @Test("Every list continues with after; cursor, the older name, does the same")
    func oneNameForTheCursor() async throws {
        let site = try Site()
        for number in 1...3 { site.addUser(number) }
        let key = site.bearer(site.makeKey([.usersRead]))
        let next = try #require(await site.get("/api/v1/users?limit=2", key).next)
        for name in ["after", "cursor"] {
            let rest = await site.get("/api/v1/users?\(name)=\(next)", key)
            #expect(rest.items.map { $0["id"]?.stringValue } == [Site.userID(3).rawValue])
        }
        let both = await site.get("/api/v1/users?after=\(next)&cursor=\(next)", key)
        #expect(both.json?["detail"]?.stringValue == "cursor is an old name for after; send only one")
    }

    @Test(
        "Events are filtered by one or several types",
        arguments: [
            ("type=session.ended", [2, 4]), ("type=session.ended&type=user.created", [1, 2, 4]),
            ("type=session.ended,user.created", [1, 2, 4]), ("type=session.ended&user=USER", [4]),
            ("type=account.deleted", []), ("", [1, 2, 3, 4]),
        ])
    func eventTypes(_ query: String, found: [Int]) async throws {
        let site = try Site()
        let kinds: [JournalEntry.Kind] = [.userCreated, .sessionEnded, .userUpdated, .sessionEnded]
        for (index, kind) in kinds.enumerated() {
            site.database.put(kind, of: Site.userID(index < 3 ? 1 : 2), at: site.clock.now())
        }
        let all = try await site.database.events.map(\.id.rawValue)
        let key = site.bearer(site.makeKey([.eventsRead]))
        let target = "/api/v1/events?" + query.replacing("USER", with: Site.userID(2).rawValue)
        let ids = await site.get(target, key).items.compactMap { $0["id"]?.stringValue }
        #expect(ids == found.map { all[$0 - 1] })
        // Page by page the same.
        var paged: [String] = []
        var next: String?
        repeat {
            let page = await site.get(target + "&limit=1" + (next.map { "&after=\($0)" } ?? ""), key)
            paged += page.items.compactMap { $0["id"]?.stringValue }
            next = page.next
        } while next != nil && paged.count < 9
        #expect(paged == ids)
    }

    @Test(
        "An unknown type of event is refused with the list of types",
        arguments: ["x", "", "session.ended,", "Session.ended"])
    func noType(_ type: String) async throws {
        let site = try Site()
        let response = await site.get("/api/v1/events?type=\(type)", site.bearer(site.makeKey([.eventsRead])))
        #expect(response.status == .badRequest)
        #expect(response.json?["detail"]?.stringValue?.contains("session.ended, consent.revoked") == true)
    }
}
