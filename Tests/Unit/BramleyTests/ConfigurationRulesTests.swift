import Bramley
import Foundation
import Testing
import Web

/// `forwardAuth.rulesFile` and its twin.
struct ConfigurationRulesTests {
    private static let trusted: [String: [String]] = ["trustedProxies": ["127.0.0.1"]]

    private func problems(
        _ text: String, server: [String: [String]] = trusted, mode: Int = 0o644
    ) throws -> [String] {
        let fixture = ConfigurationFixture()
        let path = try fixture.write(text, to: "rules.json", mode: mode)
        return try fixture.problems(["forwardAuth": ["rulesFile": path], "server": server]).map {
            $0.description.replacing(fixture.directory.path + "/", with: "")
        }
    }

    @Test func rulesAreReadFromAFileOrInline() throws {
        let fixture = ConfigurationFixture()
        let text = "{\"rules\": [{\"path\": \"/a\", \"allow\": \"public\"}, {\"allow\": \"signedIn\"}]}"
        let path = try fixture.write(text, to: "rules.json", mode: 0o644)
        let fromFile = try fixture.load(["forwardAuth": ["rulesFile": path], "server": Self.trusted])
        let inline = try fixture.load(["forwardAuth": ["rules": text], "server": Self.trusted])
        #expect(fromFile.configuration.web.accessRules?.rules.count == 2)
        #expect(inline.configuration.web.accessRules == fromFile.configuration.web.accessRules)
        #expect(fromFile.warnings.isEmpty)
        #expect(CheckCommand.summary(of: fromFile).contains { $0.contains("access rules            2;") })
        let both = try fixture.problems(["forwardAuth": ["rules": text, "rulesFile": path], "server": Self.trusted])
        #expect(both.map(\.key) == ["forwardAuth.rulesFile"])
        #expect(try fixture.load().configuration.web.accessRules == nil)
    }

    @Test func everyFlawIsReportedWithItsPosition() throws {
        #expect(
            try problems("{\"rules\": [\n  {\"allow\": \"public\",}\n]}").map { $0.contains("line 2, column 21: ") }
                == [true])
        let found = try problems("{\"rules\": [{\"allow\": \"public\"}, {\"host\": \"A\", \"allow\": \"no\"}]}")
        #expect(found.count == 2)
        #expect(found.first?.contains("\"rules.json\" rule 2, host: is \"A\".") == true)
        #expect(found.last?.contains("\"rules.json\" rule 2, allow: is \"no\".") == true)
    }

    @Test func ruleThatNothingReachesIsAWarning() throws {
        let found = try problems("{\"rules\": [{\"allow\": \"public\"}, {\"path\": \"/a\", \"allow\": \"signedIn\"}]}")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("warning: forwardAuth.rulesFile") == true)
        #expect(found.first?.contains("rule 2 is never reached: rule 1 matches everything first.") == true)
    }

    @Test func rulesThatOthersCouldChangeOrEvadeAreRefused() throws {
        let text = "{\"rules\": [{\"allow\": \"public\"}]}"
        #expect(try problems(text, mode: 0o666).map { $0.contains("can be changed by other users") } == [true])
        #expect(try problems(text, mode: 0o600) == [])
        let found = try problems("{\"rules\": [{\"allow\": \"public\"}]}", server: [:])
        #expect(found.map { $0.contains("no proxy is trusted") } == [true])
    }

    @Test func missingFileIsNamed() throws {
        let fixture = ConfigurationFixture()
        let found = try fixture.problems(["forwardAuth": ["rulesFile": "nowhere.json"]])
        #expect(found.map(\.fault) == ["\"\(fixture.directory.path)/nowhere.json\" does not exist."])
    }
}
