import Certificates
import Foundation
import Testing

@testable import Bramley

/// What holds, and is said anyway: it would not do as its operator expects.
@Suite struct ConfigurationAdviceTests {
    private let fixture = ConfigurationFixture()

    private var proxies: [String: Any] { ["server": ["trustedProxies": ["127.0.0.1"]]] }

    /// Of a configuration with a trusted proxy.
    private func load(_ changes: [String: Any] = [:]) throws -> LoadedConfiguration {
        try fixture.load(proxies.merging(changes) { $1 })
    }

    private func warnings(_ changes: [String: Any] = [:]) throws -> [ConfigurationProblem] {
        try load(changes).warnings
    }

    @Test func aWholeConfigurationNeedsNone() throws {
        #expect(try warnings().isEmpty)
        let summary = CheckCommand.summary(of: try load())
        #expect(summary.contains("The configuration is valid."))
    }

    /// Regression: `check` called a configuration good by which every notification of Apple's is refused.
    @Test(arguments: [true, false]) func withoutAnAppNotificationsAreRefused(isGiven: Bool) throws {
        let changes: [String: Any] = ["apple": ["bundleIDs": isGiven ? [String]() as Any : NSNull()]]
        let warning = try #require(try warnings(changes).first)
        #expect(warning.key == "apple.bundleIDs")
        #expect(warning.fault.contains("notifications") && warning.fault.contains("will be refused"))
        #expect(warning.remedy.contains("primary App ID that com.example.web is grouped with"))
        let summary = CheckCommand.summary(of: try load(changes))
        #expect(!summary.contains("The configuration is valid."))
        #expect(summary.contains("The configuration is valid, with 1 warning above."))
    }

    /// The simulated Apple addresses a server that names no app anyway.
    @Test(arguments: [(false, Diagnosis.State.wrong), (true, .unsure)])
    func doctorReportsItToo(isSimulated: Bool, state: Diagnosis.State) throws {
        let warnings = try warnings(["apple": ["bundleIDs": NSNull()]])
        let diagnosis = try #require(
            Doctor.diagnoses(of: warnings, isSimulated: isSimulated).first)
        #expect(diagnosis.state == state && diagnosis.finding == .notificationsUnlisted)
        #expect(diagnosis.detail.contains("will be refused"))
    }

    @Test func neitherProxyNorCertificate() throws {
        let warning = try #require(try warnings(["server": ["trustedProxies": NSNull()]]).first)
        #expect(warning.key == "server.trustedProxies")
        #expect(warning.fault.contains("no certificate in server.certificateFile"))
        // Nobody is between a visitor and http://localhost.
        #expect(
            try warnings(["publicURL": "http://localhost:8080", "server": ["trustedProxies": NSNull()]]).isEmpty)
    }

    /// Where something is wrong, that comes first.
    @Test func nothingIsAdvisedBesideErrors() throws {
        let problems = try fixture.problems([
            "apple": ["bundleIDs": NSNull(), "teamID": "short"], "server": ["trustedProxies": NSNull()],
        ])
        #expect(problems.map(\.key) == ["apple.teamID"])
        // Also where all could be read.
        let open = try fixture.write(TestKeys.first, to: "open.p8", mode: 0o644)
        let faults = try fixture.problems([
            "apple": ["bundleIDs": NSNull(), "privateKeyFile": open], "server": ["trustedProxies": NSNull()],
        ])
        #expect(faults.map(\.key) == ["apple.privateKeyFile"])
    }

    @Test func aDatabaseWithoutItsSealingKey() throws {
        let data = fixture.directory.appending(path: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let path = try fixture.write(fixture.configuration(proxies), to: "config.json")
        func check() throws -> [ConfigurationProblem] {
            do {
                return try CheckCommand.load(ConfigurationInput(path: path)).warnings
            } catch {
                return error.problems
            }
        }
        #expect(try check().isEmpty)
        _ = try fixture.write("SQLite", to: "data/bramley.db")
        let problem = try #require(try check().first)
        #expect(problem.severity == .error)
        #expect(problem.key == "secrets.sealingKeyFile")
        #expect(problem.fault.contains("sealing.key") && problem.fault.contains("does not exist"))
        #expect(problem.remedy.contains("Restore the key from a backup"))
        _ = try fixture.write(String(repeating: "ab", count: 32), to: "data/sealing.key")
        #expect(try check().isEmpty)
    }

    @Test(arguments: [
        ("{\n    \"publicURL\": \"https://id.example.com\",\n}", "line 2, column 42: trailing comma."),
        ("{\"a\": [1, 2 , \n ]}", "line 1, column 13: trailing comma."),
        ("{\"é\": [\"é\",]}", "line 1, column 11: trailing comma."),
        ("{\"a\": [,]}", "line 1, column 8: unexpected character."),
        ("{\"a\": 1,,}", "line 1, column 9: unexpected character."),
    ]) func trailingCommaIsNamed(text: String, said: String) throws {
        #expect(try fixture.problems(ofText: text).map(\.fault) == [said])
    }
}
