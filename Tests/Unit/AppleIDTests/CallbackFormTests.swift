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

    @Test func ignoresFieldsItDoesNotKnow() throws {
        #expect(try parse([("state", "s"), ("extra", "1"), ("extra", "2"), ("State", "t")]).state == "s")
    }

    @Test(arguments: [("state", 8192), ("code", 4096), ("id_token", 16_384), ("error", 256)])
    func boundsEachField(name: String, maximum: Int) throws {
        _ = try parse([(name, String(repeating: "a", count: maximum))])
        let error = #expect(throws: Failure.self) {
            try parse([(name, String(repeating: "a", count: maximum + 1))])
        }
        #expect(error == Failure(.malformedCallback, "\(name) is too long"))
    }

    @Test func boundsTheBodyAndTheNumberOfFields() throws {
        let provider = try Apple().provider
        let full = Array("extra=".utf8) + [UInt8](repeating: 0x61, count: 1_048_576 - 6)
        _ = try provider.parseCallback(full)
        #expect(throws: Failure.self) { try provider.parseCallback(full + [0x61]) }
        let fields = (0..<32).map { ("f\($0)", "") }
        _ = try parse(fields)
        #expect(throws: Failure.self) { try parse(fields + [("g", "")]) }
    }

    @Test(arguments: [
        "{", "null", "[]", "\"Ada\"", "{\"name\":\"Ada\"}", "{\"name\":{\"firstName\":1,\"lastName\":[]}}",
        "{\"name\":{\"firstName\":\"\\u0000\\u202e\",\"lastName\":\" \"}}", "{\"name\":null}", "{}",
        "{\"name\":{\"firstName\":\"Ada\"},\"name\":{\"firstName\":\"Eve\"}}", "{\"name\":{\"firstName\":\"\\ud800\"}}",
    ])
    func unusableUserFieldGivesNoNameAndNoFailure(user: String) throws {
        let form = try parse([("state", "s"), ("code", "c"), ("user", user)])
        #expect(form.name == nil)
        #expect(form.code == "c")
    }

    @Test func aLongNameIsCut_AndOnePartIsEnough() throws {
        let long = String(repeating: "a", count: 5000)
        let form = try parse([("state", "s"), ("user", #"{"name":{"firstName":"\#(long)"}}"#)])
        #expect(form.name == PersonName(given: String(repeating: "a", count: 100)))
        let partial = try parse([("user", #"{"name":{"lastName":"Lovelace"}}"#)])
        #expect(partial.name == PersonName(family: "Lovelace"))
    }
}
