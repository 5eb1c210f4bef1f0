import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `/api/v1/users`: finding people and changing them.
@Suite struct UsersAPITests {
    private let site: Site

    init() throws { site = try Site() }

    @Test func documentHasEveryMember() async throws {
        let site = try Site.signedIn(groups: ["staff"], forwarding: false)
        let response = await site.get("/api/v1/users/\(Site.userID(1))", site.bearer(site.makeKey([.usersRead])))
        #expect(
            response.text == #"{"id":"usr_00000000000000000000000001","state":"active","externalID":null,"#
                + #""appleSubject":"001.sub","email":"anna@example.com","emailVerified":true,"isPrivateEmail":false,"#
                + #""emailForwarding":false,"name":{"given":"Anna","family":"Appleseed"},"realUserStatus":null,"#
                + #""organizationID":null,"#
                + #""credentialState":"authorized","credentialChangedAt":"2026-09-21T14:13:20.000Z","#
                + #""credentialCause":"sign_in","groups":["staff"],"createdAt":"2026-09-21T14:13:20.000Z"}"#)
    }

    @Test func pagesFollowEachOther() async throws {
        let key = site.bearer(site.makeKey([.usersRead]))
        for number in 1...5 { site.addUser(number, createdAt: site.clock.now().adding(seconds: Int64(number / 3))) }
        var seen: [String] = []
        var cursor: String?
        repeat {
            let query = cursor.map { "&cursor=\($0)" } ?? ""
            let page = await site.get("/api/v1/users?limit=2\(query)", key)
            #expect(page.status == .ok)
            seen += page.ids
            cursor = page.next
            if let cursor { #expect(cursor.wholeMatch(of: /A[Q-Za-f][A-Za-z0-9_-]{29}A/) != nil) }
            // Neither those who come nor those who go move a page.
            if seen.count == 2 {
                site.addUser(9, createdAt: Timestamp(seconds: 1))
                site.database.execute("DELETE FROM user WHERE id = '\(Site.userID(1))'")
            }
        } while cursor != nil && seen.count < 20
        #expect(seen == (1...5).map { Site.userID($0).rawValue })
    }

    @Test func pageHasFiftyByDefault() async throws {
        let key = site.bearer(site.makeKey([.usersRead]))
        for number in 1...201 { site.addUser(number) }
        for (query, count) in [("", 50), ("?limit=1", 1), ("?limit=200", 200)] {
            let page = try await site.get("/api/v1/users\(query)", key).collected()
            #expect(page.items.count == count)
            #expect(page.next != nil)
        }
    }

    @Test(
        "Filters combine",
        arguments: [
            ("", [1, 2, 3, 4]), ("state=active", [1, 4]), ("state=pending", [2]), ("group=staff", [1, 2]),
            ("group=staff&state=active", [1]), ("group=STAFF", []), ("group=a%20b", [3]), ("group=a+b", [3]),
            ("externalID=x%2B1", [4]), ("externalID=x%2B1&state=active", [4]), ("externalID=x%2B1&state=disabled", []),
            ("externalID=none", []), ("appleSubject=001.2", [2]), ("appleSubject=001.2&group=staff", [2]),
            ("appleSubject=001.2&group=a", []), ("appleSubject=001.4&externalID=x%2B1", [4]),
            ("appleSubject=001.2&externalID=x%2B1", []), ("appleSubject=001.9", []), ("email=a@example.com", [1, 2]),
            ("email=A%40EXAMPLE.com&state=pending", [2]), ("email=x%40privaterelay.appleid.com", [3]),
            ("email=a@example.co", []), ("email=%C3%A4@example.com", []),
            ("email=x@privaterelay.appleid.com&group=x", []),
            ("email=a@example.com&appleSubject=001.2", [2]), ("email=a@example.com&externalID=x%2B1", []),
            ("name=novak", [3]), ("name=JAN%20Nov%C3%A1k", [3]), ("name=nov&state=disabled", [3]),
            ("name=nov&state=active", []), ("name=ovak", []), ("name=novak&appleSubject=001.3", [3]),
            ("name=novak&appleSubject=001.2", []),
        ] as [(String, [Int])])
    func filters(_ query: String, found: [Int]) async throws {
        site.addUser(1, groups: ["staff"])
        site.addUser(2, state: .pending, groups: ["staff", "x"])
        site.addUser(3, state: .disabled, groups: ["a b"])
        site.addUser(4, externalID: "x+1")
        for (number, address) in [(1, "a@example.com"), (2, "A@Example.com"), (3, "x@privaterelay.appleid.com")] {
            site.database.update(Site.userID(number)) {
                $0.email = EmailAddress(address: address, isVerified: true, isPrivate: number == 3)
                if number == 3 { $0.name = PersonName(given: "Jan", family: "Novák") }
            }
        }
        let response = await site.get("/api/v1/users?\(query)", site.bearer(site.makeKey([.usersRead])))
        #expect(response.status == .ok)
        #expect(response.ids == found.map { Site.userID($0).rawValue })
        #expect(response.json?["next"]?.isNull == true)
    }

    @Test func lookUpKeepsToItsCursor() async throws {
        let key = site.bearer(site.makeKey([.usersRead]))
        for number in 1...3 { site.addUser(number, externalID: "x\(number)") }
        let cursor = try #require(await site.get("/api/v1/users?limit=2", key).next)
        for (number, count) in [(2, 0), (3, 1)] {
            let response = await site.get("/api/v1/users?externalID=x\(number)&cursor=\(cursor)", key)
            #expect(response.items.count == count)
        }
    }

    @Test(
        "Parameters out of range",
        arguments: [
            "limit=0", "limit=201", "limit=-1", "limit=%2B1", "limit=01", "limit=1e2", "limit=", "limit=1.0",
            "limit=99999999999999999999", "limit=%D9%A1", "state=Active", "state=", "state=none", "group=",
            "group=a%2Cb",
            "group=a%00", "externalID=", "externalID=%0A", "name=", "name=%0A", "appleSubject=", "appleSubject=%20",
            "appleSubject=%C3%A9",
            "cursor=", "cursor=x", "cursor=AQ", "cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "cursor=AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", "cursor=AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "cursor=AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D", "cursor=usr_00000000000000000000000001",
            "state=active&state=active", "group=a&group=b", "cursor=&cursor=", "after=x", "after=AQ&cursor=AQ",
            "email=", "email=ann", "email=a@b&email=a@b", "email=a@b%00",
        ])
    func outOfRange(_ query: String) async throws {
        site.addUser(1)
        let response = await site.get("/api/v1/users?\(query)", site.bearer(site.makeKey([.usersRead])))
        #expect(response.status == .badRequest)
        #expect(response.code == "invalid_request")
        #expect(response.json?["detail"]?.stringValue?.isEmpty == false)
    }

    @Test(
        "A merge patch changes only its members",
        arguments: [
            ("{}", "null", #"["a"]"#, "active"), (#"{"externalID":"7"}"#, #""7""#, #"["a"]"#, "active"),
            (#"{"externalID":null}"#, "null", #"["a"]"#, "active"), (#"{"groups":[]}"#, "null", "[]", "active"),
            (#"{"groups":["b","c"]}"#, "null", #"["b","c"]"#, "active"),
            (#"{"state":"disabled"}"#, "null", #"["a"]"#, "disabled"),
            (#"{"state":"pending","groups":["李雷"],"externalID":"é"}"#, #""é""#, #"["李雷"]"#, "pending"),
        ])
    func patches(_ body: String, externalID: String, groups: String, state: String) async throws {
        site.addUser(1, groups: ["a"])
        for type in ["application/merge-patch+json", "application/json", "application/json; charset=utf-8"] {
            let response = await site.patch(
                Site.userID(1), body, key: site.makeKey([.usersRead, .usersWrite]), type: type)
            #expect(response.status == .ok)
            #expect(response.text.contains(#""externalID":\#(externalID),"#))
            #expect(response.text.contains(#""groups":\#(groups),"#))
            #expect(response.text.contains(#""state":"\#(state)","#))
        }
    }

    @Test func limitsOfAPatchAreInclusive() async throws {
        site.addUser(1)
        let key = site.makeKey([.usersRead, .usersWrite])
        func status(_ body: String) async -> Int { await site.patch(Site.userID(1), body, key: key).status.code }
        for (count, expected) in [(255, 200), (256, 400)] {
            #expect(await status(#"{"externalID":"\#(String(repeating: "x", count: count))"}"#) == expected)
        }
        // Bytes, not characters.
        #expect(await status(#"{"externalID":"\#(String(repeating: "é", count: 128))"}"#) == 400)
        for (count, expected) in [(64, 200), (65, 400)] {
            #expect(await status(#"{"groups":["\#(String(repeating: "g", count: count))"]}"#) == expected)
            let many = (0..<count).map { #""g\#($0)""# }.joined(separator: ",")
            #expect(await status(#"{"groups":[\#(many)]}"#) == expected)
        }
    }

    @Test(
        "Malformed patches are refused",
        arguments: [
            "", "null", "[]", "1", #""x""#, "{", #"{"state":"active"} "x""#, #"{"state":"gone"}"#, #"{"state":null}"#,
            #"{"state":1}"#, #"{"groups":null}"#, #"{"groups":"a"}"#, #"{"groups":[1]}"#, #"{"groups":["a","a"]}"#,
            #"{"groups":[""]}"#, #"{"groups":["a,b"]}"#, #"{"groups":["a\n"]}"#, #"{"groups":[null]}"#,
            #"{"groups":{"0":"a"}}"#, #"{"externalID":""}"#, #"{"externalID":1}"#, #"{"externalID":"a\u0000"}"#,
            #"{"externalID":{}}"#, #"{"email":"x@example.com"}"#, #"{"id":"usr_00000000000000000000000002"}"#,
            #"{"State":"active"}"#, #"{"state":"active","state":"active"}"#,
            #"{"state":"active","st\u0061te":"disabled"}"#, #"{"externalID":"\ud800"}"#, "\u{FEFF}{}",
            #"{"groups":[[[[["a"]]]]]}"#,
        ])
    func refusedPatches(_ body: String) async throws {
        let before = site.addUser(1, groups: ["a"])
        let response = await site.patch(Site.userID(1), body, key: site.makeKey([.usersWrite]))
        #expect(response.status == .badRequest)
        #expect(response.code == "invalid_request")
        #expect(site.database.user(before.id) == before)
    }

    @Test("Content may have 16 KiB and not one byte more", arguments: [(16_384, 200), (16_385, 413)])
    func bound(_ size: Int, status: Int) async throws {
        site.addUser(1)
        let body = "{}" + String(repeating: " ", count: size - 2)
        let key = site.makeKey([.usersRead, .usersWrite])
        #expect(await site.patch(Site.userID(1), body, key: key).status.code == status)
    }

    @Test func externalIDIsTaken() async throws {
        site.addUser(1, externalID: "7")
        site.addUser(2)
        let response = await site.patch(Site.userID(2), #"{"externalID":"7"}"#, key: site.makeKey([.usersWrite]))
        #expect(response.status == .conflict)
        #expect(response.code == "external_id_taken")
        // Whose it is stays with those who may read users.
        #expect(!response.text.contains("usr_"))
    }

    @Test func sessionsAreListedWithoutTheirTokens() async throws {
        let site = try Site.signedIn(agent: "Mozilla/5.0 <x>")
        site.signIn(kind: .native)
        let response = await site.get(
            "/api/v1/users/\(Site.userID(1))/sessions", site.bearer(site.makeKey([.usersRead])))
        #expect(Set(response.items.compactMap { $0["kind"]?.stringValue }) == ["browser", "native"])
        #expect(response.json?["next"]?.isNull == true)
        #expect(
            response.items.allSatisfy {
                $0.members.map(\.name) == [
                    "id", "createdAt", "lastSeenAt", "expiresAt", "kind", "clientID", "userAgent", "address",
                ]
            })
        #expect(!response.text.contains("brs_"))
    }

    @Test("sessions come in pages")
    func sessionPages() async throws {
        let site = try Site.signedIn()
        let ids = site.addSessions(60)
        let key = site.bearer(site.makeKey([.usersRead]))
        let path = "/api/v1/users/\(Site.userID(1))/sessions"
        var found: [String] = []
        var query = ""
        for count in [50, 11] {
            let page = await site.get(path + query, key)
            #expect(page.items.count == count)
            found += page.items.compactMap { $0["id"]?.stringValue }
            query = page.json?["next"]?.stringValue.map { "?after=" + $0 } ?? ""
        }
        #expect(query.isEmpty && found.count == 61 && Set(found).isSuperset(of: ids.map(\.rawValue)))
        #expect(await site.get(path + "?limit=7", key).items.count == 7)
        for wrong in ["?after=x", "?limit=0", "?limit=201", "?after=", "?cursor=x"] {
            #expect(await site.get(path + wrong, key).code == "invalid_request")
        }
    }

    @Test func sessionsEndOneByOneAndAllAtOnce() async throws {
        let site = try Site.signedIn()
        site.signIn(kind: .native)
        site.addUser(2)
        let key = site.bearer(site.makeKey([.usersWrite]))
        let one = "/api/v1/users/\(Site.userID(1))/sessions/ses_00000000000000000000000001"
        // Another user's session is not theirs.
        let foreign = "/api/v1/users/\(Site.userID(2))/sessions/ses_00000000000000000000000001"
        #expect(await site.send(.delete, foreign, key).code == "session_not_found")
        #expect(await site.get("/api/v1/session", cookie: site.cookie).status == .ok)
        #expect(await site.send(.delete, one, key).status == .noContent)
        #expect(await site.send(.delete, one, key).code == "session_not_found")
        #expect(await site.get("/api/v1/session", cookie: site.cookie).status == .unauthorized)
        let all = "/api/v1/users/\(Site.userID(1))/sessions"
        for _ in 0..<2 { #expect(await site.send(.delete, all, key).status == .noContent) }
        #expect(await site.get("/api/v1/session", site.bearer(Site.nativeToken)).status == .unauthorized)
        #expect(site.database.ended.map(\.cause) == [.revokedByOperator, .revokedByOperator])
    }
}
