import ChildProcesses
import Coding
import Crypto
import Foundation
import Glibc
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts

/// `users import`: a team that already uses Sign in with Apple moves in.
@Suite struct CommandImportTests {
    /// A database made by a server that has stopped.
    static func withDatabase(_ body: (ServerPlace) async throws -> Void) async throws {
        let place = try ServerPlace()
        try await withLoops { group in
            let server = try await place.start(on: group)
            _ = await server.stop()
        }
        try await body(place)
    }

    static func lines(_ range: Range<Int>) -> String {
        range.map { number in
            """
            {"appleSubject":"\(number).abc","externalID":"e\(number)","email":"p\(number)@example.com",\
            "name":{"given":"G\(number)","family":"李"},"clientID":"com.example.web","refreshToken":"r.\(number)"}\n
            """
        }.joined()
    }

    private func counts(_ place: ServerPlace) async throws -> (users: Int, identities: Int, created: Int) {
        let database = try Stranger.beside(place.databasePath)
        return try database.read { connection in
            (
                try connection.integer("SELECT count(*) FROM user") ?? -1,
                try connection.integer("SELECT count(*) FROM apple_identity") ?? -1,
                try connection.integer("SELECT count(DISTINCT user) FROM event WHERE type = 'user.created'")
                    ?? -1
            )
        }
    }

    /// Killed, and run again: everybody is there once, with one event, and as if nothing had happened.
    @Test func killedImportContinues() async throws {
        try await Self.withDatabase { place in
            let count = 6000
            let path = try place.folder.write(Self.lines(0..<count), to: "people.jsonl")
            try place.folder.write(Self.lines(0..<5250), to: "begin.jsonl")
            // More input is promised, and never comes: however slow this test is, the import is in the middle.
            let process = try ChildProcess(
                ["/bin/bash", "-c", "exec \"$@\" < <(cat begin.jsonl; exec sleep 120)", "bash"]
                    + place.command("users", "import", "-"), directory: place.folder.path,
                outputPath: place.folder.path + "/import")
            try await eventually(within: .seconds(60), "some are there") { try await counts(place).users >= 1000 }
            await process.killAndWait()
            let there = try await counts(place).users
            #expect(there < count, "it was killed too late to show anything")
            #expect(there % 500 == 0, "whole batches only")

            let second = try await place.run(["users", "import", path, "--json"])
            #expect(second.code == 0, "\(second.errors)")
            let report = try second.json
            #expect(
                report.names == [
                    "lines", "imported", "updated", "unchanged", "refused", "withoutApple", "dryRun", "complete",
                ])
            #expect(report["imported"]?.int64Value == Int64(count - there))
            #expect(report["unchanged"]?.int64Value == Int64(there))
            let after = try await counts(place)
            #expect(after == (count, count, count))
            let third = try await place.run(["users", "import", path, "--json"])
            #expect(try third.json["unchanged"]?.int64Value == Int64(count))
        }
    }

    @Test func interruptedImportSaysHowToContinue() async throws {
        try await Self.withDatabase { place in
            try place.folder.write(Self.lines(0..<520), to: "people")
            // More input is promised, and never comes. The shell tells the id of the import.
            let process = try ChildProcess(
                [
                    "/bin/bash", "-c",
                    "\"$@\" < <(cat people; exec sleep 60) & echo pid $!; wait $!; echo code $?; kill %1 2>/dev/null; exit 0",
                    "bash",
                ] + place.command("users", "import", "-"), directory: place.folder.path,
                outputPath: place.folder.path + "/import")
            try await eventually(within: .seconds(30), "the first batch is there") {
                try await counts(place).users == 500
            }
            let pid = try #require(process.output.firstMatch(of: /pid (\d+)/).flatMap { Int32($0.1) })
            #expect(kill(pid, SIGINT) == 0)
            try await eventually("it ends") { process.output.contains("code 1") }
            #expect(process.output.contains("500 lines: 500 imported"))
            #expect(process.output.contains("Run it again"))
            let again = try await place.run("users import people --json")
            #expect(try again.json["imported"]?.int64Value == 20)
        }
    }

    @Test func everyBrokenLineIsReportedAndTheRestIsDone() async throws {
        try await Self.withDatabase { place in
            let text = """
                {"appleSubject":"a","externalID":"1"}
                nonsense

                {"appleSubject":"b","externalID":"1"}
                {"appleSubject":"a","externalID":"2"}
                {"appleSubject":"c","email":"\u{1B}[31m@example.com"}
                \(String(repeating: "x", count: 200_000))
                {"appleSubject":"a","externalID":"1","name":{"given":"雷"}}
                {"appleSubject":"d"}
                """
            let path = try place.folder.write(text, to: "people.jsonl")
            for isRehearsal in [true, false] {
                let result = try await place.run(["users", "import", path] + (isRehearsal ? ["--dry-run"] : []))
                #expect(result.code == 1)
                #expect(
                    result.errors.split(separator: "\n").compactMap { $0.firstMatch(of: #/^line (\d+): /#)?.1 }
                        == ["2", "4", "5", "6", "7"])
                #expect(!result.errors.contains("\u{1B}"))
                #expect(result.output.hasPrefix("8 lines: 2 imported, 1 updated, 0 unchanged, 5 refused."))
                #expect(try await counts(place).users == (isRehearsal ? 0 : 2))
            }
            // Others can read it, and it may hold tokens.
            try place.folder.write(#"{"appleSubject":"d"}"#, to: "open.jsonl", mode: 0o644)
            let open = try await place.run("users import open.jsonl")
            #expect(open.code == 0 && open.errors.contains("chmod 600"))
            #expect(try await place.run("users import missing.jsonl").code == 1)
            #expect(try await place.run("users import .").code == 1)
        }
    }

    /// Ten times the lines, and a line of twenty megabytes, need no more memory.
    @Test func memoryIsBounded() async throws {
        try await Self.withDatabase { place in
            func peak(_ input: String) async throws -> Int {
                let python = """
                    import resource, subprocess, sys
                    command = ' '.join("'%s'" % word for word in sys.argv[2:])
                    subprocess.call(['/bin/sh', '-c', sys.argv[1] + ' | ' + command + ' >/dev/null 2>&1'])
                    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
                    """
                let process = try ChildProcess(
                    ["python3", "-c", python, input] + place.command("users", "import", "-"),
                    directory: place.folder.path, outputPath: place.folder.path + "/peak-\(UUID().uuidString)")
                _ = await process.waitUntilEnded(within: .seconds(200))
                return try #require(Int(process.output.split(separator: "\n").last ?? ""))
            }
            try place.folder.write(Self.lines(0..<400), to: "few")
            try place.folder.write(Self.lines(400..<4_400), to: "many")
            let few = try await peak("cat few")
            let many = try await peak("cat many")
            let gigantic = try await peak("head -c 20000000 /dev/zero")
            print("measured: peak \(few) KiB for 400 lines, \(many) for 4,000, \(gigantic) for a line of 20 MB")
            if !isSanitized {
                #expect(many < few + 8192)
                #expect(gigantic < few + 8192)
            }
            #expect(try await counts(place).users == 4_400)
        }
    }

    @Test func theFirstSignInIsTheImportedPerson() async throws {
        try await CommandEffectTests.withBed { bed in
            let ada = try await bed.simulator.add("ada")
            let subject = try await bed.simulator.subject(of: ada)
            let line = """
                {"appleSubject":"\(subject)","externalID":"crm-7","email":"old@example.com","clientID":"com.example.web",\
                "refreshToken":"r.old-token"}
                """
            #expect(try await bed.place.run("users import -", input: line).code == 0)
            let imported = try await bed.place.run("users show --apple-subject \(subject) --json").json
            #expect(imported["name"]?.objectValue?["given"] == .null)
            try expectSealed("r.old-token", subject: subject, in: bed.place)

            let token = try await bed.server.signIn(ada, at: bed.simulator, from: "10.61.0.1")
            let user = try #require(try await bed.server.session(token).json["user"]?.objectValue)
            #expect(user["id"] == imported["id"])
            #expect(user["externalID"] == "crm-7")
            #expect(user["email"] == "ada@example.com")
            #expect(user["name"]?.objectValue?["given"] == .string(ada.given))
            let again = try await bed.place.run("users import - --json", input: line)
            #expect(try again.json["unchanged"]?.int64Value == 1)
            let export = try await bed.place.run(["users", "export", try #require(user["id"]?.stringValue)])
            #expect(!export.output.contains("r.old-token"))
        }
    }

    /// The token in the database opens as one of a sign-in does, and stands nowhere in the clear.
    private func expectSealed(_ token: String, subject: String, in place: ServerPlace) throws {
        let key = try String(contentsOfFile: place.dataDirectory + "/sealing.key", encoding: .utf8)
        let bytes = try #require(Hexadecimal.decode(key.trimmingCharacters(in: .whitespacesAndNewlines)))
        let ring = SealingKeyring(current: SealingKey(material: SecretBytes(bytes)))
        let stranger = try Stranger.beside(place.databasePath)
        let sealed = try stranger.row("SELECT sealed_refresh_token FROM apple_credential")?[0].blob
        let context = RefreshToken.sealingContext(
            team: TeamID(ServerPlace.teamID), subject: AppleSubject(subject), clientID: ClientID(ServerPlace.servicesID)
        )
        let opened = try ring.open(try #require(sealed), purpose: .refreshToken, context: context)
        #expect(String(decoding: opened, as: UTF8.self) == token)
        for file in ["bramley.db", "bramley.db-wal"] {
            let content = FileManager.default.contents(atPath: place.dataDirectory + "/" + file) ?? Data()
            #expect(content.range(of: Data(token.utf8)) == nil)
        }
    }
}
