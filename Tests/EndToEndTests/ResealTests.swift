import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Testing

/// The sealing key changed as docs/operating.md says, with the real programs: nobody is signed out, no token is lost.
@Suite struct ResealTests {
    private static func useKeys(_ place: ServerPlace, _ current: String, previous: [String]) throws {
        let path = place.configurationPath
        var text = try String(contentsOfFile: path, encoding: .utf8)
        if let old = text.range(of: "\"secrets\": ", options: []) {
            let end = try #require(text[old.lowerBound...].range(of: "},\n"))
            text.removeSubrange(old.lowerBound..<end.upperBound)
        }
        let list = previous.map { "\"\(place.folder.path)/\($0)\"" }.joined(separator: ", ")
        let secrets =
            "\"secrets\": { \"sealingKeyFile\": \"\(place.folder.path)/\(current)\", "
            + "\"previousSealingKeyFiles\": [\(list)] },\n"
        text.insert(contentsOf: secrets, at: text.index(after: try #require(text.firstIndex(of: "{"))))
        try place.folder.write(text, to: "config.json")
    }

    @Test func aSealingKeyIsReplacedWhilePeopleSignIn() async throws {
        try await withLoops { group in
            let place = try ServerPlace()
            let simulator = try await RunningSimulator.start(in: place.folder, keyPath: place.keyPath, on: group)
            try place.configure(apple: simulator.origin)
            try place.folder.write(String(repeating: "ab", count: 32) + "\n", to: "old.key")
            try place.folder.write(String(repeating: "cd", count: 32) + "\n", to: "new.key")

            try Self.useKeys(place, "old.key", previous: [])
            let first = try await place.start(on: group)
            var tokens: [String] = []
            for number in 0..<5 {
                let person = TestPerson("early\(number)")
                try await simulator.add(person)
                tokens.append(try await first.signIn(person, at: simulator, from: "10.80.0.\(number)"))
            }
            // Before the restart the command would seal what the server cannot open.
            try Self.useKeys(place, "new.key", previous: ["old.key"])
            let early = try await place.run("credentials reseal")
            #expect(early.code == 1)
            #expect(early.errors.contains("restart bramley serve"), "\(early.errors)")
            #expect(await first.stop() == StartAndStopTests.clean)

            let second = try await place.start(on: group)
            async let late = Self.signIn(6, at: simulator, second)
            let done = try await place.run("credentials reseal --json")
            tokens += try await late
            #expect(done.code == 0, "\(done.errors)")
            let report = try done.json
            #expect(report["tokens"]?.int64Value == 5)
            #expect(report["complete"] == true)
            #expect(report["unreadable"]?.arrayValue?.isEmpty == true)
            #expect(report["previousKeysUntil"]?.stringValue?.hasSuffix("Z") == true)
            let again = try await place.run("credentials reseal")
            #expect(again.code == 0)
            #expect(again.output.hasPrefix("0 refresh tokens and 0 signing keys sealed again"), "\(again.output)")
            for token in tokens { #expect(try await second.verify(token).status.code == 204) }
            #expect(await second.stop() == StartAndStopTests.clean)

            // Without the old key at last: a token from before the change opens, so Apple can be told of a deletion.
            try Self.useKeys(place, "new.key", previous: [])
            let third = try await place.start(on: group)
            let user = try #require(try await third.session(tokens[0]).json["user"]?.objectValue?["id"]?.stringValue)
            #expect(try await place.run("users delete \(user) --yes").code == 0)
            try await eventually(within: .seconds(20), "Apple is told") {
                third.process.output.contains("deletion told to Apple")
            }
            #expect(try await simulator.requests("revoke") == 1)
            #expect(!third.process.output.contains("unreadable"))
            #expect(await third.stop() == StartAndStopTests.clean)
            for result in [early, done, again] {
                #expect(!result.output.contains("abab") && !result.errors.contains("abab"))
            }
        }
    }

    private static func signIn(
        _ count: Int, at simulator: RunningSimulator, _ server: RunningServer
    ) async throws -> [String] {
        var tokens: [String] = []
        for number in 0..<count {
            let person = TestPerson("late\(number)")
            try await simulator.add(person)
            tokens.append(try await server.signIn(person, at: simulator, from: "10.81.0.\(number)"))
        }
        return tokens
    }
}
