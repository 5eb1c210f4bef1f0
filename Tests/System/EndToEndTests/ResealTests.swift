import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Sockets
import Strangers
import TemporaryFolders
import Testing

/// The sealing key changed as docs/operate/keys.md says, with the real programs: nobody is signed out, no token is lost.
@Suite struct ResealTests {
    /// Writes into the configuration which of the folder's key files are in use.
    static func useKeys(_ place: ServerPlace, _ current: String, previous: [String]) throws {
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

    /// A server with one key in use and another beside it.
    private static func sealingWithTheOldKey(
        on group: EventLoopGroup
    ) async throws -> (place: ServerPlace, simulator: RunningSimulator, server: RunningServer) {
        let (place, simulator) = try await ServerPlace.besideApple(on: group)
        try place.folder.write(String(repeating: "ab", count: 32) + "\n", to: "old.key")
        try place.folder.write(String(repeating: "cd", count: 32) + "\n", to: "new.key")
        try useKeys(place, "old.key", previous: [])
        return (place, simulator, try await place.start(on: group))
    }

    @Test func aSealingKeyIsReplacedWhilePeopleSignIn() async throws {
        try await withLoops { group in
            let (place, simulator, first) = try await Self.sealingWithTheOldKey(on: group)
            var tokens: [String] = []
            for number in 0..<5 {
                let person = try await simulator.add("early\(number)")
                tokens.append(try await first.signIn(person, at: simulator, from: "10.80.0.\(number)"))
            }
            // Before the restart the command would seal what the server cannot open.
            try Self.useKeys(place, "new.key", previous: ["old.key"])
            let early = try await place.run("credentials reseal")
            #expect(early.code == 1)
            #expect(early.errors.contains("Restart bramley serve"), "\(early.errors)")
            #expect(await first.stop() == StartAndStopTests.clean)

            let second = try await place.start(on: group)
            async let late = second.signIn(6, "late", at: simulator, from: "10.81.0")
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
            #expect(again.output.hasPrefix("0 refresh tokens and 0 signing keys resealed"), "\(again.output)")
            for token in tokens { #expect(try await second.verify(token).status.code == 204) }
            #expect(await second.stop() == StartAndStopTests.clean)

            // Without the old key at last: a token from before the change opens, so Apple can be told of a deletion.
            try Self.useKeys(place, "new.key", previous: [])
            let third = try await place.start(on: group)
            let user = try #require(try await third.session(tokens[0]).json["user"]?.objectValue?["id"]?.stringValue)
            #expect(try await place.run("users delete \(user) --yes").code == 0)
            try await eventually(within: .seconds(20), "Apple is told") {
                third.process.output.contains("token revoked at Apple after deletion")
            }
            #expect(try await simulator.requests("revoke") == 1)
            #expect(!third.process.output.contains("unreadable"))
            #expect(await third.stop() == StartAndStopTests.clean)
            for result in [early, done, again] {
                #expect(!result.output.contains("abab") && !result.errors.contains("abab"))
            }
        }
    }

    /// A mistake: the old key is taken out of the list too early. What was deleted before it, and what is deleted then, waits.
    @Test func aDeletionWhoseKeyWasMissingReachesAppleOnceTheKeyIsBack() async throws {
        try await withLoops { group in
            let (place, simulator, first) = try await Self.sealingWithTheOldKey(on: group)
            var users: [String] = []
            for name in ["ada", "boris"] {
                let person = try await simulator.add(name)
                let token = try await first.signIn(person, at: simulator, from: "10.83.0.1")
                let user = try await first.session(token).json["user"]?.objectValue?["id"]?.stringValue
                users.append(try #require(user))
            }
            _ = try await simulator.control(.put, "faults/revoke", ["status": 503])
            #expect(try await place.run("users delete \(users[0]) --yes").code == 0)
            #expect(await first.stop() == StartAndStopTests.clean)
            _ = try await simulator.control(.put, "faults/revoke", ["status": 503])

            // Listed for one start, and removed too early.
            try Self.useKeys(place, "new.key", previous: ["old.key"])
            #expect(await (try await place.start(on: group)).stop() == StartAndStopTests.clean)
            _ = try await simulator.control(.delete, "faults")
            try Self.useKeys(place, "new.key", previous: [])
            let second = try await place.start(on: group)
            #expect(try await place.run("users delete \(users[1]) --yes").code == 0)
            let list = "credentials revocations"
            #expect(try await place.run("\(list) --retry").code == 0)
            try await eventually(within: .seconds(60), "both are seen to wait, with the reason") {
                let items = try await place.run("\(list) --json").items
                return items.count == 2
                    && items.allSatisfy {
                        $0["state"]?.stringValue == "retrying" && $0["failure"]?.stringValue == "unreadable"
                            && $0["nextAttemptAt"]?.stringValue != nil
                    }
            }
            // Asked for again: said once each.
            _ = try await place.run("\(list) --retry")
            try await eventually(within: .seconds(60), "tried again") {
                try await place.run("\(list) --json").items.allSatisfy { ($0["attempts"]?.int64Value ?? 0) >= 2 }
            }
            #expect(second.process.output.components(separatedBy: "reason=unreadable").count == 3)
            #expect(await second.stop() == StartAndStopTests.clean)

            // Back, and at once no longer needed: sealed again, what waits is the new key's.
            try Self.useKeys(place, "new.key", previous: ["old.key"])
            let third = try await place.start(on: group)
            #expect(try await place.run("credentials reseal").code == 0)
            _ = try await place.run("\(list) --retry")
            try await eventually(within: .seconds(60), "Apple is told") {
                try await place.run("\(list) --json").items.isEmpty
            }
            #expect(third.process.output.components(separatedBy: "token revoked at Apple after deletion").count == 3)
            #expect(await third.stop() == StartAndStopTests.clean)
        }
    }

    /// Damage is distinguished from a missing key, and neither delays the others.
    @Test func damagedTokensAreDistinguishedFromMissingKeys() async throws {
        try await withLoops { group in
            let place = try ServerPlace()
            try place.folder.write(String(repeating: "ab", count: 32) + "\n", to: "old.key")
            try place.folder.write(String(repeating: "cd", count: 32) + "\n", to: "new.key")
            try Self.useKeys(place, "old.key", previous: [])
            #expect(await (try await place.start(on: group)).stop() == StartAndStopTests.clean)
            let lines = (1...8).map { number in
                #"{"appleSubject":"001.\#(number)","clientID":"\#(ServerPlace.servicesID)","refreshToken":"r.\#(number)"}"#
            }
            #expect(try await place.run("users import -", input: lines.joined(separator: "\n")).code == 0)
            try Self.useKeys(place, "new.key", previous: ["old.key"])
            let server = try await place.start(on: group)
            func damage(_ row: Int, _ value: String) throws {
                try KillTestsDatabase.open(place.databasePath) { connection in
                    try connection.execute(
                        """
                        UPDATE apple_credential SET sealed_refresh_token = \(value) WHERE identity =
                        (SELECT id FROM apple_identity WHERE subject = '001.\(row)')
                        """)
                }
            }
            try damage(1, "CAST(substr(sealed_refresh_token, 1, 20) || zeroblob(21) AS BLOB)")
            try damage(2, "x'01'")
            let first = try await place.run("credentials reseal --json")
            #expect(first.code == 1)
            #expect(try first.json["tokens"]?.int64Value == 6)
            #expect(!first.errors.contains("previousSealingKeyFiles"), "\(first.errors)")
            #expect(first.errors.contains("damaged"), "\(first.errors)")
            let reasons = (try first.json["unreadable"]?.arrayValue ?? []).compactMap { $0.objectValue }
            #expect(reasons.compactMap { $0["reason"]?.stringValue } == ["malformed", "not_authentic"])

            try damage(3, "CAST(x'01aabbccdd' || substr(sealed_refresh_token, 6) AS BLOB)")
            let second = try await place.run("credentials reseal")
            #expect(second.code == 1)
            #expect(second.errors.contains("aabbccdd"), "\(second.errors)")
            #expect(second.errors.contains("previousSealingKeyFiles"), "\(second.errors)")
            #expect(second.errors.contains("damaged"), "\(second.errors)")
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }
}
