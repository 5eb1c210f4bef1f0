import Coding
import HTTP
import HTTPTypes
import MemoryStores
import RelyingParty
import Synchronization
import Testing
import Web

/// `GET /api/v1/events`.
@Suite struct EventsAPITests {
    private static func eventID(_ number: Int) -> EventID {
        let digits = String(number)
        return EventID(unchecked: "evt_" + String(repeating: "0", count: 26 - digits.utf8.count) + digits)
    }

    /// Events 1 to `count`, of users 1 and 2 by turns.
    private func site(_ count: Int) throws -> (Site, HTTPFields) {
        let site = try Site()
        site.store.state.withLock { state in
            state.journal = (1...count).map { number in
                JournalEntry(
                    id: Self.eventID(number), kind: .userUpdated, time: Timestamp(seconds: 1_790_000_000),
                    user: Site.userID(2 - number % 2), fields: ["groups"])
            }
        }
        return (site, site.bearer(site.makeKey([.eventsRead])))
    }

    private func ids(_ response: ServerResponse) -> [String] { response.items.compactMap { $0["id"]?.stringValue } }

    @Test func documentHasIdsAndNamesOnly() async throws {
        let (site, key) = try site(1)
        site.store.state.withLock {
            $0.journal.append(
                JournalEntry(
                    id: Self.eventID(2), kind: .sessionEnded, time: Timestamp(seconds: 1_790_000_000),
                    user: Site.userID(1), session: SessionID(unchecked: "ses_00000000000000000000000001"),
                    cause: .signOut))
        }
        #expect(
            await site.get("/api/v1/events", key).text
                == #"{"items":[{"id":"evt_00000000000000000000000001","type":"user.updated","#
                + #""time":"2026-09-21T14:13:20.000Z","data":{"user":"usr_00000000000000000000000001","#
                + #""fields":["groups"]}},{"id":"evt_00000000000000000000000002","type":"session.ended","#
                + #""time":"2026-09-21T14:13:20.000Z","data":{"user":"usr_00000000000000000000000001","#
                + #""session":"ses_00000000000000000000000001","cause":"sign_out"}}],"next":null}"#)
    }

    @Test func pagesFollowEachOtherAndTheLastIdGoesOn() async throws {
        let (site, key) = try site(5)
        var seen: [String] = []
        var after: String?
        repeat {
            let page = await site.get("/api/v1/events?limit=2" + (after.map { "&after=\($0)" } ?? ""), key)
            seen += ids(page)
            after = page.next
            if let after { #expect(after.wholeMatch(of: /A[g-n][A-Za-z0-9_-]{10}/) != nil) }
        } while after != nil && seen.count < 20
        #expect(seen == (1...5).map { Self.eventID($0).rawValue })
        let last = try #require(seen.last)
        #expect(await site.get("/api/v1/events?after=\(last)", key).text == #"{"items":[],"next":null}"#)
        #expect(ids(await site.get("/api/v1/events?after=\(seen[2])", key)) == Array(seen[3...]))
    }

    @Test func ofOneUser() async throws {
        let (site, key) = try site(5)
        let first = await site.get("/api/v1/events?limit=2&user=\(Site.userID(1))", key)
        #expect(ids(first) == [1, 3].map { Self.eventID($0).rawValue })
        let next = try #require(first.next)
        let second = await site.get("/api/v1/events?limit=2&user=\(Site.userID(1))&after=\(next)", key)
        #expect(ids(second) == [Self.eventID(5).rawValue])
        #expect(second.next == nil)
        #expect(await site.get("/api/v1/events?user=\(Site.userID(3))", key).text == #"{"items":[],"next":null}"#)
    }

    @Test("A place that is not kept is 410, and never the beginning")
    func expired() async throws {
        let (site, key) = try site(2)
        for after in [Self.eventID(3).rawValue, "AgAAAAAAAAAD", "An__________"] {
            let response = await site.get("/api/v1/events?after=\(after)", key)
            #expect(response.status == .gone)
            #expect(response.code == "cursor_expired")
        }
    }

    @Test(
        "What is no place is 400",
        arguments: [
            "after=", "after=1", "after=x", "after=evt_1", "after=ses_00000000000000000000000001",
            "after=AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "after=AgAAAAAAAAA", "after=AgAAAAAAAAAAAA", "after=A_AAAAAAAAAA",
            "after=AgAAAAAAAAA%3D", "after=EVT_00000000000000000000000001", "user=", "user=1", "limit=0", "limit=201",
            "cursor=AgAAAAAAAAAB", "after=AgAAAAAAAAAB&after=AgAAAAAAAAAB",
        ])
    func malformed(_ query: String) async throws {
        let (site, key) = try site(2)
        let response = await site.get("/api/v1/events?\(query)", key)
        #expect(response.status == .badRequest)
        #expect(response.code == "invalid_request")
    }
}
