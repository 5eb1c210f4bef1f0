import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import TemporaryFolders
import Testing

/// An app changes hands: `transfer export` as the old team, `transfer import` as the new one, and a server that goes
/// from one to the other, with an Apple that knows both.
@Suite struct TransferTests {
    private static let newTeam = TransferBed.newTeam

    private static func user(_ server: RunningServer, _ token: String) async throws -> JSONObject {
        try #require(try await server.session(token).json["user"]?.objectValue)
    }

    /// Everybody of a family with one of each fate.
    @Test func anAppChangesHands() async throws {
        try await TransferBed.with { bed, _ in
            let (place, simulator) = (bed.place, bed.simulator)
            var server = try await place.start(on: bed.group)
            var tokens: [String: String] = [:]
            var ids: [String: String] = [:]
            for (number, name) in ["moves", "early", "revokes", "late"].enumerated() {
                let person = try await simulator.add(name)
                try await simulator.control(
                    .post, "people", ["id": .string(name), "hidesEmail": .bool(name == "moves")])
                let token = try await server.signIn(person, at: simulator, from: "10.70.0.\(number)")
                tokens[name] = token
                ids[name] = try await Self.user(server, token)["id"]?.stringValue
            }
            let before = try await Self.user(server, tokens["moves"] ?? "")
            try await simulator.control(.post, "consents/revoke", ["person": "revokes"])
            try await bed.introduce()

            // While the server runs. Apple is in a bad way at first.
            try await bed.fault(["status": 503, "remaining": 2])
            let export = try await place.run("transfer export --to \(Self.newTeam) lines --json --rate 100")
            #expect(export.code == 0, "\(export.errors)")
            #expect(try export.json["exported"]?.int64Value == 3 && export.json["refused"]?.int64Value == 1)
            let lines = try String(contentsOfFile: place.folder.path + "/lines", encoding: .utf8)
            #expect(lines.split(separator: "\n").count == 3)
            let mode = try FileManager.default.attributesOfItem(atPath: place.folder.path + "/lines")
            #expect((mode[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o600)
            let asked = try await simulator.control(.get, "counters")["usermigrationinfo"]?.objectValue
            let again = try await place.run("transfer export --to \(Self.newTeam)")
            #expect(again.code == 0 && again.output == "3 exported, 1 refused by Apple, 0 not asked about yet.\n")
            let askedAgain = try await simulator.control(.get, "counters")["usermigrationinfo"]?.objectValue
            #expect(
                asked?["requests"]?.int64Value == askedAgain?["requests"]?.int64Value, "nobody is asked about twice")
            let unmoved = try await place.run("transfer status --to \(Self.newTeam) --unmoved --json")
            #expect(try unmoved.items.map { $0["user"]?.stringValue } == [ids["revokes"]])

            // The app changes hands, and the server its team.
            await server.stop()
            try await bed.changeHands()
            server = try await place.start(on: bed.group)
            for name in ["moves", "late"] {
                #expect(try await server.verify(tokens[name] ?? "").status.code == 204, "\(name) is signed in still")
            }
            let early = try await server.signIn(TestPerson("early"), at: simulator, from: "10.70.1.1")
            #expect(try await Self.user(server, early)["id"]?.stringValue == ids["early"], "no second account")
            try await simulator.control(
                .post, "consents/revoke", ["person": "late", "team": .string(ServerPlace.teamID)])

            let move = try await place.run("transfer import --json --rate 100")
            #expect(move.code == 0, "\(move.errors)")
            let report = try move.json
            #expect(report["moved"]?.int64Value == 1 && report["refused"]?.int64Value == 1)
            #expect(report["movedInAll"]?.int64Value == 2 && report["waiting"]?.int64Value == 0)

            try await eventually(within: .seconds(30), "the server has noticed") {
                try await Self.user(server, tokens["moves"] ?? "")["appleSubject"] != before["appleSubject"]
            }
            let after = try await Self.user(server, tokens["moves"] ?? "")
            #expect(after["id"] == before["id"] && after["credentialState"]?.stringValue == "authorized")
            #expect(before["isPrivateEmail"]?.boolValue == true && after["isPrivateEmail"]?.boolValue == true)
            #expect(after["email"] != before["email"], "the relay gives another address to another team")
            for subject in [before, after].compactMap({ $0["appleSubject"]?.stringValue }) {
                let shown = try await place.run(["users", "show", "--apple-subject", subject, "--json"])
                #expect(shown.code == 0 && shown.output.contains(ids["moves"] ?? "-"), "\(shown.errors)")
            }
            let late = try await Self.user(server, tokens["late"] ?? "")
            #expect(late["credentialState"]?.stringValue == "transferred")
            let events = try await place.run("events tail --json --type user.transferred")
            #expect(events.lines.count == 2)

            // The file says what is known already; and nobody is asked about twice.
            let second = try await place.run("transfer import lines --json")
            #expect(second.code == 0, "\(second.errors)")
            #expect(try second.json["moved"]?.int64Value == 0)
            // Whoever comes after the move is who they were, with the claim or without.
            let later = try await server.signIn(TestPerson("moves"), at: simulator, from: "10.70.1.2")
            #expect(try await Self.user(server, later)["id"]?.stringValue == ids["moves"])
            let log = try String(contentsOfFile: place.logPath, encoding: .utf8)
            #expect(!log.contains("transfer_sub") && !log.contains("000999."))
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }

    /// Killed and run again, in both directions, by way of a file: everybody moves once.
    @Test func killedTransferContinues() async throws {
        try await TransferBed.with { bed, place in
            let server = try await place.start(on: bed.group)
            let count = 30
            for number in 0..<count {
                let person = try await bed.simulator.add("p\(number)")
                _ = try await server.signIn(person, at: bed.simulator, from: "10.71.0.\(number)")
            }
            await server.stop()
            try await bed.introduce()
            func killed(_ arguments: [String], when column: String) async throws {
                let process = try ChildProcess(
                    [try Programs.path("bramley")] + arguments + ["--rate", "20", "--config", place.configurationPath],
                    directory: place.folder.path, outputPath: place.folder.path + "/killed")
                try await eventually(within: .seconds(60), "some are there") {
                    let status = try await place.run("transfer status --to \(Self.newTeam) --json")
                    return (try status.json[column]?.int64Value ?? 0) > 0
                }
                await process.killAndWait()
            }
            try await killed(["transfer", "export", "--to", Self.newTeam], when: "waiting")
            let export = try await place.run("transfer export --to \(Self.newTeam) lines --json --rate 100")
            #expect(try export.json["exported"]?.int64Value == Int64(count), "\(export.errors)")

            try await bed.changeHands()
            try await killed(["transfer", "import", "lines"], when: "moved")
            let move = try await place.run("transfer import lines --json --rate 100")
            #expect(move.code == 0, "\(move.errors)")
            #expect(try move.json["movedInAll"]?.int64Value == Int64(count))
            let events = try await place.run("events tail --json --type user.transferred -n 100")
            #expect(events.lines.count == count, "each once")
        }
    }

    @Test("wrong flags, files and teams get one line each, and nothing is written")
    func wrongWays() async throws {
        try await TransferBed.with { bed, place in
            let server = try await place.start(on: bed.group)
            let person = try await bed.simulator.add("ann")
            _ = try await server.signIn(person, at: bed.simulator, from: "10.72.0.1")
            await server.stop()
            let subject = try await place.run("users list --json").items.first?["appleSubject"]?.stringValue ?? ""
            let good = """
                {"team":"\(ServerPlace.teamID)","appleSubject":"\(subject)","target":"\(Self.newTeam)",\
                "transferSubject":"t.1"}
                """
            let cases: [(String, String?, Int32, String)] = [
                ("transfer export --to \(ServerPlace.teamID)", nil, 64, "old team"),
                ("transfer export --to team654321", nil, 64, "--to"),
                ("transfer export --to \(Self.newTeam) --client-id com.example.stranger", nil, 64, "--client-id"),
                ("transfer export --to \(Self.newTeam) --rate 0", nil, 64, "--rate"),
                ("transfer export --to \(Self.newTeam) - --json", nil, 64, "standard output"),
                ("transfer import missing", nil, 1, "cannot be read"),
                // The line is for another team than this configuration's.
                ("transfer import -", good, 1, "line 1: target is \(Self.newTeam)"),
                ("transfer import -", "{}", 1, "line 1: team is missing"),
                ("transfer import -", "[1]", 1, "line 1: not a JSON object"),
                (
                    "transfer import -", good.replacingOccurrences(of: "\"team\"", with: "\"tem\""), 1,
                    "not a known member"
                ),
                ("transfer import -", String(repeating: "x", count: 70_000), 1, "line 1: longer than"),
            ]
            for (line, input, code, text) in cases {
                let result = try await place.run(line, input: input)
                #expect(result.code == code, "\(line): \(result.errors)")
                #expect(result.errors.contains(text), "\(line): \(result.errors)")
            }
            // No such team: Apple refuses the one person there is, and it is not about them.
            let nowhere = try await place.run("transfer export --to TEAM000000 --json")
            #expect(nowhere.code == 1 && nowhere.errors.contains("Nothing was written"), "\(nowhere.errors)")
            #expect(try nowhere.json["refused"]?.int64Value == 0 && nowhere.json["complete"]?.boolValue == false)
            // A key that is not this team's.
            let text = try String(contentsOfFile: place.configurationPath, encoding: .utf8)
            try place.folder.write(
                text.replacingOccurrences(of: ServerPlace.keyID, with: "OTHERKEY12"), to: "config.json")
            let refused = try await place.run("transfer export --to \(Self.newTeam) --json")
            #expect(
                refused.code == 1 && refused.errors.contains("Apple rejected our client credentials"),
                "\(refused.errors)")
            #expect(try refused.json["exported"]?.int64Value == 0 && refused.json["complete"]?.boolValue == false)
            // And the answers of both are distinguished in the status.
            let status = try await place.run("transfer status --to \(Self.newTeam) --json").json
            #expect(status["unasked"]?.int64Value == 1 && status["refusedAtExport"]?.int64Value == 0)
        }
    }
}
