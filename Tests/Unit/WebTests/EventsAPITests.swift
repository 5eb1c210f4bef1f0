import Coding
import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct EventsAPITests {
    /// Events 1 to `count`, of users 1 and 2 by turns.
    private func site(_ count: Int) throws -> (Site, HTTPFields) {
        let site = try Site()
        for number in 1...count {
            site.database.put(
                .userUpdated, of: Site.userID(2 - number % 2), fields: ["groups"], at: Timestamp(seconds: 1_790_000_000)
            )
        }
        return (site, site.bearer(site.makeKey([.eventsRead])))
    }

    @Test func documentHasIdsAndNamesOnly() async throws {
        let (site, key) = try site(1)
        site.database.put(
            .sessionEnded, of: Site.userID(1), session: SessionID(unchecked: "ses_00000000000000000000000001"),
            cause: .signOut, at: Timestamp(seconds: 1_790_000_000))
        let all = try await site.database.events.map(\.id)
        #expect(
            await site.get("/api/v1/events", key).text
                == #"{"items":[{"id":"\#(all[0])","type":"user.updated","#
                + #""time":"2026-09-21T14:13:20.000Z","data":{"user":"usr_00000000000000000000000001","#
                + #""fields":["groups"]}},{"id":"\#(all[1])","type":"session.ended","#
                + #""time":"2026-09-21T14:13:20.000Z","data":{"user":"usr_00000000000000000000000001","#
                + #""session":"ses_00000000000000000000000001","cause":"sign_out"}}],"next":null}"#)
    }

    @Test func pagesFollowEachOtherAndTheLastIdGoesOn() async throws {
        let (site, key) = try site(5)
        var seen: [String] = []
        var after: String?
        repeat {
            let page = await site.get("/api/v1/events?limit=2" + (after.map { "&after=\($0)" } ?? ""), key)
            seen += page.ids
            after = page.next
            if let after { #expect(after.wholeMatch(of: /A[g-n][A-Za-z0-9_-]{10}/) != nil) }
        } while after != nil && seen.count < 20
        #expect(try await seen == site.database.events.map(\.id.rawValue))
        let last = try #require(seen.last)
        #expect(await site.get("/api/v1/events?after=\(last)", key).text == #"{"items":[],"next":null}"#)
        #expect(await site.get("/api/v1/events?after=\(seen[2])", key).ids == Array(seen[3...]))
    }

    @Test("An expired cursor is 410, never the beginning")
    func expired() async throws {
        let (site, key) = try site(2)
        for after in ["evt_00000000000000000000000003", "AgAAAAAAAAAD", "An__________"] {
            let response = await site.get("/api/v1/events?after=\(after)", key)
            #expect(response.status == .gone)
            #expect(response.code == "cursor_expired")
        }
    }

    @Test(
        "A malformed cursor answers 400",
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
