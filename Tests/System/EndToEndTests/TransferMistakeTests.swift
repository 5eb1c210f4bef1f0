import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import TemporaryFolders
import Testing

/// What an operator gets wrong in a transfer, and what then must not happen to anybody.
@Suite struct TransferMistakeTests {
    private static let new = TransferBed.newTeam
    private static let old = ServerPlace.teamID

    /// The line of one person of an export.
    private static func line(of id: String?, in bed: TransferBed) async throws -> String {
        let shown = try await bed.place.run(["users", "show", id ?? "-", "--json"])
        let subject = try #require(try shown.json["appleSubject"]?.stringValue)
        let lines = try String(contentsOfFile: bed.place.folder.path + "/lines", encoding: .utf8)
        return try #require(lines.split(separator: "\n").map(String.init).first { $0.contains(subject) })
    }

    @Test("an import moves only the people in its file") func importMovesOnlyItsPeople() async throws {
        try await TransferBed.with { bed, place in
            let ids = try await bed.signIn(["ann", "bob", "cat"], from: "10.73.0")
            try await bed.introduce()
            let export = try await place.run("transfer export --to \(Self.new) lines --rate 100")
            #expect(export.code == 0, "\(export.errors)")
            try await bed.changeHands()
            let ann = try await Self.line(of: ids["ann"], in: bed)
            let bad = #"{"team":"\#(Self.old)","appleSubject":"x","target":"\#(Self.new)","transferSubject":"t"}"#
            let asked = try await bed.requests()

            let twice = ann.replacingOccurrences(of: "transferSubject\":\"", with: "transferSubject\":\"x")
            let refusals: [(input: String, flags: String, texts: [String])] = [
                ("", "", ["lists nobody"]),
                (" \n\n", "--skip-refused", ["lists nobody"]),
                (
                    bad + "\n[]\n", "",
                    ["line 1: no user has", "line 2: not a JSON object", "2 of 2 lines", "Nobody was moved"]
                ),
                (bad, "--skip-refused", ["line 1", "1 of 1 lines", "Nobody was moved"]),
                (ann + "\n" + bad, "", ["line 2: no user has", "1 of 2 lines", "--skip-refused", "Nobody was moved"]),
                (ann + "\n" + twice, "", ["line 2: contradicts line 1", "Nobody was moved"]),
            ]
            for (input, flags, texts) in refusals {
                let result = try await place.run("transfer import - --json \(flags)", input: input)
                #expect(result.code == 1 && result.output.isEmpty, "\(input): \(result.errors)")
                for text in texts { #expect(result.errors.contains(text), "\(input): \(result.errors)") }
            }
            let counted = try await bed.count("moved")
            let askedAfter = try await bed.requests()
            #expect(counted == 0 && askedAfter == asked, "nothing changed, and Apple was not asked")
            #expect(try await place.run("transfer import --skip-refused").code == 64)

            let some = try await place.run("transfer import - --json --skip-refused", input: bad + "\n" + ann)
            #expect(some.code == 0 && some.errors.contains("line 1: no user has"), "\(some.errors)")
            var report = try some.json
            #expect(report["moved"]?.int64Value == 1 && report["linesRefused"]?.int64Value == 1)
            #expect(report["waiting"]?.int64Value == 2, "the others wait")
            let again = try await place.run("transfer import - --json", input: ann)
            #expect(again.code == 0, "\(again.errors)")
            report = try again.json
            #expect(report["moved"]?.int64Value == 0 && report["alreadyMoved"]?.int64Value == 1)
            #expect(try await bed.requests() == asked + 1, "about one person, once")

            let rest = try await place.run("transfer import --json")
            #expect(rest.code == 0, "\(rest.errors)")
            #expect(try rest.json["moved"]?.int64Value == 2, "without a file: everybody")
        }
    }

    @Test("an import as the old team names both teams, and moves nobody") func importAsTheOldTeam() async throws {
        try await TransferBed.with { bed, place in
            _ = try await bed.signIn(["ann"], from: "10.74.0")
            try await bed.introduce()
            let early = try await place.run("transfer import")
            #expect(early.code == 1 && early.errors.contains("transfer export --to \(Self.old)"), "\(early.errors)")
            #expect(try await place.run("transfer export --to \(Self.new) lines").code == 0)
            let asked = try await bed.requests()
            func refused(_ line: String) async throws {
                let result = try await place.run(line)
                #expect(result.code == 1 && result.output.isEmpty, "\(line): \(result.output)")
                for text in [Self.old, Self.new, "apple.teamID", "apple.keyID", "apple.privateKeyFile"] {
                    #expect(result.errors.contains(text), "\(line): \(result.errors)")
                }
            }
            try await refused("transfer import")
            try await refused("transfer import lines --json")
            #expect(try await bed.requests() == asked)

            try await bed.changeHands()
            #expect(try await place.run("transfer import").code == 0)
            #expect(try await place.run("transfer import").code == 0, "once more is no mistake")
            try await bed.returnToOldTeam()
            try await refused("transfer import")
        }
    }

    @Test("a team without people exports nobody, and says so") func exportOfNobody() async throws {
        try await TransferBed.with { bed, _ in
            _ = try await bed.signIn(["ann"], from: "10.75.0")
            try await bed.changeHands()
            let result = try await bed.place.run("transfer export --to TEAM000000 lines")
            #expect(
                result.code == 1 && result.errors.contains("this configuration's team, \(Self.new)"), "\(result.errors)"
            )
            #expect(!FileManager.default.fileExists(atPath: bed.place.folder.path + "/lines"))
        }
    }

    @Test("when Apple refuses everyone of a small site, nobody is marked, in either direction")
    func everyoneOfASmallSiteIsRefused() async throws {
        try await TransferBed.with { bed, place in
            let ids = try await bed.signIn(["ann", "bob", "cat"], from: "10.76.0")
            // The new team is not known yet: Apple refuses each as it would one who left.
            let early = try await place.run("transfer export --to \(Self.new) lines")
            #expect(early.code == 1, "\(early.output)")
            for text in ["refused everybody", "Nothing was written", "--again"] {
                #expect(early.errors.contains(text), "\(early.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: place.folder.path + "/lines"))
            #expect(try await bed.count("refusedAtExport") == 0)

            try await bed.introduce()
            try await bed.simulator.control(.post, "consents/revoke", ["person": "cat"])
            let export = try await place.run("transfer export --to \(Self.new)")
            #expect(export.code == 0 && export.output.hasPrefix("2 exported, 1 refused"), "\(export.output)")
            #expect(export.errors.contains("--again"), "\(export.errors)")

            // The app has not changed hands: the import is too early for everybody.
            try await bed.changeHands()
            for name in ["ann", "bob"] {
                try await bed.simulator.control(
                    .post, "consents/revoke", ["person": .string(name), "team": .string(Self.old)])
            }
            let move = try await place.run("transfer import")
            #expect(move.code == 1 && move.errors.contains("refused everybody"), "\(move.errors)")
            let waiting = try await bed.count("waiting")
            #expect(waiting == 2)
            let shown = try await place.run(["users", "show", ids["ann"] ?? "-", "--json"])
            #expect(try shown.json["credentialState"]?.stringValue == "authorized", "nobody is marked")
        }
    }

    @Test("people whom Apple refused are retried only with --again, and the output says so")
    func refusedBefore() async throws {
        try await TransferBed.with { bed, place in
            let ids = try await bed.signIn(["ann", "bob"], from: "10.77.0")
            try await bed.introduce()
            try await bed.simulator.control(.post, "consents/revoke", ["person": "bob"])
            #expect(try await place.run("transfer export --to \(Self.new)").code == 0)
            #expect(try await place.run(["users", "delete", ids["ann"] ?? "-", "--yes"]).code == 0)
            let asked = try await bed.requests()
            let result = try await place.run("transfer export --to \(Self.new) lines")
            #expect(result.code == 1 && result.errors.contains("--again"), "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: place.folder.path + "/lines"))
            #expect(try await bed.requests() == asked)
        }
    }

    @Test("a second concurrent transfer ends and names the first; a killed one blocks nobody")
    func twoAtOnce() async throws {
        try await TransferBed.with { bed, place in
            _ = try await bed.signIn(["ann"], from: "10.78.0")
            try await bed.introduce()
            // The first waits for Apple, some nine minutes.
            try await bed.fault(["status": 503])
            let before = try await bed.requests()
            let first = try ChildProcess(
                [try Programs.path("bramley"), "transfer", "export", "--to", Self.new]
                    + ["--config", place.configurationPath],
                directory: place.folder.path, outputPath: place.folder.path + "/first")
            try await eventually(within: .seconds(60), "the first asks") { try await bed.requests() > before }
            for line in ["transfer export --to \(Self.new)", "transfer export --to \(Self.new) --again lines"] {
                let second = try await place.run(line)
                #expect(second.code == 1 && second.output.isEmpty, "\(line): \(second.output)")
                #expect(
                    second.errors.contains("bramley transfer export, process \(first.pid), since"),
                    "\(line): \(second.errors)")
            }
            // Reading the status is not a transfer.
            #expect(try await bed.count("unasked") == 1)
            await first.killAndWait()
            try await bed.simulator.control(.delete, "faults/usermigrationinfo")
            let third = try await place.run("transfer export --to \(Self.new)")
            #expect(third.code == 0 && third.output.hasPrefix("1 exported"), "\(third.errors)")
            let path = place.dataDirectory + "/transfer.lock"
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode.map { $0 & 0o777 } == 0o600)
        }
    }

    /// Somebody signed up again under the new team before the old one had exported them.
    @Test("--join-accounts merges two accounts, and both sessions stay valid") func accountsAreJoined()
        async throws
    {
        try await TransferBed.with { bed, place in
            let ids = try await bed.signIn(["ann", "bob"], from: "10.79.0")
            try await bed.changeHands()
            var server = try await place.start(on: bed.group)
            let token = try await server.signIn(TestPerson("ann"), at: bed.simulator, from: "10.79.1.1")
            let second = try await server.session(token).json["user"]?.objectValue?["id"]?.stringValue
            #expect(second != nil && second != ids["ann"], "the case is there")
            await server.stop()
            try await bed.returnToOldTeam()
            #expect(try await place.run("transfer export --to \(Self.new)").code == 0)
            try await bed.changeHands()

            server = try await place.start(on: bed.group)
            let move = try await place.run("transfer import --json")
            #expect(move.code == 0, "\(move.errors)")
            #expect(try move.json["moved"]?.int64Value == 1 && move.json["secondAccounts"]?.int64Value == 1)
            for text in [ids["ann"] ?? "-", second ?? "-", "--join-accounts"] {
                #expect(move.errors.contains(text), "\(move.errors)")
            }
            let join = try await place.run("transfer import --join-accounts --json")
            #expect(join.code == 0, "\(join.errors)")
            #expect(try join.json["joined"]?.int64Value == 1 && join.json["movedInAll"]?.int64Value == 2)
            try await eventually(within: .seconds(30), "the server has noticed") {
                try await server.session(token).json["user"]?.objectValue?["id"]?.stringValue == ids["ann"]
            }
            let later = try await server.signIn(TestPerson("ann"), at: bed.simulator, from: "10.79.1.2")
            #expect(try await server.session(later).json["user"]?.objectValue?["id"]?.stringValue == ids["ann"])
            let events = try await place.run("events tail --json --type user.transferred")
            #expect(events.lines.count == 3, "bob, the second account, and ann")
            #expect(try await place.run("users list --json").items.count == 2)
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }
}
