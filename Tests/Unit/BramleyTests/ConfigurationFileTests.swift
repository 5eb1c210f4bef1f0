import Bramley
import Testing

struct ConfigurationFileTests {
    let fixture = ConfigurationFixture()

    @Test(arguments: [
        (#"{"publicURL": "https://a.example", "publicURL": "https://b.example"}"#, "line 1"),
        ("{\n  \"server\": {\n    \"port\": 1,\n  }\n}", "line 3, column 14"),
        ("", "line 1"), ("[]", "JSON object"), ("{} {}", "line 1, column 4"), ("{\"a\": 01}", "line 1"),
    ])
    func refusesMalformedJSONWithItsPosition(text: String, place: String) throws {
        let problems = try fixture.problems(ofText: text)
        #expect(problems.count == 1)
        #expect(problems.first?.fault.contains(place) == true, "\(problems)")
    }

    @Test(arguments: [
        (#"{"sever": {"port": 1}}"#, "sever"), (#"{"server": {"prot": 1}}"#, "server.prot"),
        (#"{"apple.teamID": "A1B2C3D4E5"}"#, "apple.teamID"),
        (#"{"server": {"limits": {"cookies": 1}}}"#, "server.limits.cookies"),
        (#"{"server": 8080}"#, "server"), (#"{"server": {"limits": []}}"#, "server.limits"),
    ])
    func refusesAnUnknownName(text: String, name: String) throws {
        let problems = try fixture.problems(ofText: text).filter { !$0.fault.contains("required") }
        #expect(problems.map(\.key) == [name])
    }

    @Test func theSchemaMemberSetsNothing() throws {
        #expect(try fixture.problems(["$schema": "config.schema.json"]).isEmpty)
        #expect(try fixture.problems(["$schema": 5]).map(\.key) == ["$schema"])
        #expect(try fixture.problems(["server": ["$schema": "x"]]).map(\.key) == ["server.$schema"])
        #expect(!ConfigurationTable.keys.contains { $0.name == ConfigurationTable.schemaMember })
    }

    @Test(arguments: ["280", "+280"])
    func quotedDigitsAreNotANumber(text: String) throws {
        #expect(try fixture.problems(["button": ["width": text]]).map(\.key) == ["button.width"])
    }
}
