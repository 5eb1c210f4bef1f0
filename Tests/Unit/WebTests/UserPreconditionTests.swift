import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `ETag`, `If-Match` and `If-None-Match` on users (RFC 9110 §13), and what a key may read by them.
@Suite struct UserPreconditionTests {
    private static let path = "/api/v1/users/\(Site.userID(1))"

    private func key(_ site: Site) -> HTTPFields {
        var fields = site.bearer(site.makeKey([.usersRead, .usersWrite, .usersDelete]))
        fields[.contentType] = "application/json"
        return fields
    }

    private func tag(_ site: Site) async throws -> String {
        try #require(await site.get(Self.path, key(site)).fields[.eTag])
    }

    @Test("The tag is strong, and changes with whatever the representation shows")
    func tagFollowsTheRepresentation() async throws {
        let site = try Site.signedIn()
        let first = try await tag(site)
        #expect(first.wholeMatch(of: /"[0-9a-f]{64}"/) != nil)
        #expect(try await tag(site) == first)
        var seen: Set<String> = [first]
        let changes: [@Sendable (inout User) -> Void] = [
            { $0.email?.isVerified = false }, { $0.emailForwarding = true }, { $0.name.family = "Pear" },
            { $0.state = .pending }, { $0.externalID = "7" }, { $0.groups = ["a"] },
        ]
        for change in changes {
            site.database.update(Site.userID(1), change)
            let next = try await tag(site)
            #expect(seen.insert(next).inserted)
        }
        let head = await site.send(.head, Self.path, key(site))
        #expect(head.fields[.eTag] == (try await tag(site)))
    }

    @Test("A GET whose tag the client has is 304, with the tag and without content")
    func notModified() async throws {
        let site = try Site.signedIn()
        let tag = try await tag(site)
        for (value, status) in [
            (tag, 304), ("W/" + tag, 304), ("\"x\", " + tag, 304), ("*", 304), ("\"x\"", 200), ("nonsense", 200),
        ] {
            var fields = key(site)
            fields[.ifNoneMatch] = value
            let response = await site.get(Self.path, fields)
            #expect(response.status.code == status, "\(value)")
            #expect(response.fields[.eTag] == tag)
            #expect(response.bytes.isEmpty == (status == 304))
        }
    }

    @Test(
        "A change applies only to the version its author has read",
        arguments: [
            (true, "TAG", 200), (true, "\"x\", TAG", 200), (true, "*", 200), (true, "W/TAG", 412), (true, "\"x\"", 412),
            (true, "nonsense", 412), (true, "", 412), (false, "\"x\"", 200), (false, "TAG", 412), (false, "*", 412),
        ])
    func patch(isIfMatch: Bool, value: String, status: Int) async throws {
        let site = try Site.signedIn()
        let tag = try await tag(site)
        var fields = key(site)
        fields[isIfMatch ? .ifMatch : .ifNoneMatch] = value.replacing("TAG", with: tag)
        let response = await site.send(.patch, Self.path, fields, body: #"{"groups":["new"]}"#)
        #expect(response.status.code == status)
        let groups = site.database.user(Site.userID(1))?.groups
        #expect(groups == (status == 200 ? ["new"] : []))
        if status == 200 {
            #expect(response.fields[.eTag] == (try await self.tag(site)))
            #expect(response.fields[.eTag] != tag)
        } else {
            #expect(response.code == "precondition_failed")
        }
    }

    @Test("A deletion likewise; unknown users stay 404, and content is validated first")
    func delete() async throws {
        let site = try Site.signedIn()
        var fields = key(site)
        let stale = try await tag(site)
        #expect(await site.send(.patch, Self.path, fields, body: #"{"groups":["new"]}"#).status == .ok)
        fields[.ifMatch] = stale
        #expect(await site.send(.delete, Self.path, fields).code == "precondition_failed")
        #expect(site.database.user(Site.userID(1)) != nil)
        #expect(await site.send(.patch, Self.path, fields, body: #"{"groups":1}"#).status == .badRequest)
        #expect(await site.send(.delete, "/api/v1/users/\(Site.userID(9))", fields).status == .notFound)
        fields[.ifMatch] = try await tag(site)
        #expect(await site.send(.delete, Self.path, fields).status == .accepted)
    }

    @Test("A write-only key cannot read")
    func writeOnlyKeyCannotRead() async throws {
        let site = try Site.signedIn(PersonName(given: "Secret", family: "Person"))
        let key = site.makeKey([.usersWrite, .usersDelete])
        let answers = [
            await site.patch(Site.userID(1), #"{"groups":["a"]}"#, key: key),
            await site.patch(Site.userID(1), "{}", key: key),
            await site.patch(Site.userID(1), #"{"state":"nonsense"}"#, key: key),
            await site.send(.delete, "/api/v1/users/\(Site.userID(1))/sessions", site.bearer(key)),
            await site.send(.delete, "/api/v1/users/\(Site.userID(1))", site.bearer(key)),
        ]
        #expect(answers.map(\.status.code) == [204, 204, 400, 204, 202])
        for answer in answers {
            #expect(!answer.text.contains("Secret") && !answer.text.contains("001.sub"))
            #expect(answer.fields[.eTag] == nil)
        }
        #expect(answers[0].bytes.isEmpty && answers[1].bytes.isEmpty)
    }
}
