import AppleID
import Coding
import Testing

@testable import Accounts

struct CallbackFormTests {
    private func parse(_ fields: [(String, String)]) throws -> CallbackForm {
        try Apple().provider.parseCallback(FormEncoder.encode(fields))
    }

    private let user = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"forged@example.com"}"#

    @Test func readsAFirstConsent() throws {
        let form = try parse([("state", "s"), ("code", "c.0.x"), ("id_token", "a.b.c"), ("user", user)])
        #expect(form.state == "s")
        #expect(form.code == "c.0.x")
        #expect(form.identityToken == "a.b.c")
        #expect(form.name == PersonName(given: "Ada", family: "Lovelace"))
        #expect(form.rawUser == user)
        #expect(form.error == nil)
        #expect(!form.isRepost)
    }

    @Test func readsACancellation() throws {
        let form = try parse([("state", "s"), ("error", "user_cancelled_authorize")])
        #expect(form.error == "user_cancelled_authorize")
        #expect(form.state == "s")
        #expect(form.code == nil && form.identityToken == nil && form.name == nil)
    }

    @Test func takesEmptyFieldsForAbsent() throws {
        let form = try parse([("state", ""), ("code", ""), ("id_token", ""), ("user", ""), ("error", "")])
        #expect(form.state == nil && form.code == nil && form.identityToken == nil)
        #expect(form.rawUser == nil && form.error == nil)
    }

    @Test(arguments: ["1", "", "0"])
    func anyRepostFlagCounts(value: String) throws {
        #expect(try parse([("state", "s"), ("bramley_repost", value)]).isRepost)
    }

    @Test func ignoresFieldsItDoesNotKnow() throws {
        #expect(try parse([("state", "s"), ("extra", "1"), ("extra", "2"), ("State", "t")]).state == "s")
    }

    @Test(arguments: ["state", "code", "id_token", "user", "error", "bramley_repost"])
    func refusesADuplicate(name: String) {
        for second in ["a", "b", ""] {
            let error = #expect(throws: SignInFailure.self) { try parse([(name, "a"), (name, second)]) }
            #expect(error == .malformedCallback("\(name) came twice"))
        }
    }

    @Test(arguments: [("state", 8192), ("code", 4096), ("id_token", 16_384), ("error", 256)])
    func boundsEachField(name: String, maximum: Int) throws {
        _ = try parse([(name, String(repeating: "a", count: maximum))])
        let error = #expect(throws: SignInFailure.self) {
            try parse([(name, String(repeating: "a", count: maximum + 1))])
        }
        #expect(error == .malformedCallback("\(name) is too long"))
    }

    @Test func boundsTheBody() throws {
        let provider = try Apple().provider
        let full = Array("extra=".utf8) + [UInt8](repeating: 0x61, count: 1_048_576 - 6)
        _ = try provider.parseCallback(full)
        #expect(throws: SignInFailure.self) { try provider.parseCallback(full + [0x61]) }
    }

    @Test func boundsTheNumberOfFields() throws {
        let fields = (0..<32).map { ("f\($0)", "") }
        _ = try parse(fields)
        #expect(throws: SignInFailure.self) { try parse(fields + [("g", "")]) }
    }

    @Test(arguments: [
        "{", "null", "[]", "\"Ada\"", "{\"name\":\"Ada\"}", "{\"name\":{\"firstName\":1,\"lastName\":[]}}",
        "{\"name\":{\"firstName\":\"\\u0000\\u202e\",\"lastName\":\" \"}}", "{\"name\":null}", "{}",
        "{\"name\":{\"firstName\":\"Ada\"},\"name\":{\"firstName\":\"Eve\"}}", "{\"name\":{\"firstName\":\"\\ud800\"}}",
    ])
    func anUnusableUserIsNoNameAndNoFailure(user: String) throws {
        let form = try parse([("state", "s"), ("code", "c"), ("user", user)])
        #expect(form.name == nil)
        #expect(form.code == "c")
    }

    @Test func aHugeOrDeepUserIsNoNameAndNoFailure() throws {
        let long = String(repeating: "é", count: 51_200)
        for user in [
            #"{"name":{"firstName":"\#(long)","lastName":"\#(long)"}}"#,
            String(repeating: "[", count: 100_000),
        ] {
            let form = try parse([("state", "s"), ("code", "c"), ("user", user)])
            #expect(form.name == nil && form.rawUser == nil)
            #expect(form.code == "c")
        }
    }

    @Test func aLongNameIsCut() throws {
        let long = String(repeating: "a", count: 5000)
        let form = try parse([("state", "s"), ("user", #"{"name":{"firstName":"\#(long)"}}"#)])
        #expect(form.name == PersonName(given: String(repeating: "a", count: 100)))
    }

    @Test func oneNamePartIsEnough() throws {
        let form = try parse([("user", #"{"name":{"lastName":"Lovelace"}}"#)])
        #expect(form.name == PersonName(family: "Lovelace"))
    }
}
