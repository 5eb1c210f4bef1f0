import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Strangers
import TemporaryFolders
import Testing

/// `bramley backup` beside a running server and `bramley restore` without one, with the real programs.
@Suite struct BackupTests {
    private static func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) & 0o777
    }

    private static func kept(_ place: ServerPlace) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.dataDirectory).filter {
            $0.contains("before-restore")
        }
    }

    @Test func everySignInAnsweredBeforeABackupIsThereAfterItsRestore() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let server = try await place.start(on: group)
            let file = place.folder.path + "/backup.db"

            // People sign in before, and continue while the backup is made.
            let ledger = KillLedger()
            var before: [KillLedger.Entry] = []
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for worker in 0..<4 {
                    tasks.addTask {
                        for number in 0..<1000 where !ledger.isKilled {
                            let person = try await simulator.add("b\(worker)n\(number)")
                            let address = "10.90.\(worker).\(number % 250)"
                            ledger.signedIn(person, try await server.signIn(person, at: simulator, from: address))
                        }
                    }
                }
                try await eventually("some have signed in") { ledger.sessions.count >= 12 }
                before = ledger.sessions
                let made = try await place.run("backup \(file) --json")
                #expect(made.code == 0, "\(made.errors)")
                let report = try made.json
                #expect(report["users"]?.int64Value ?? 0 >= Int64(before.count))
                #expect(report["sessions"]?.int64Value ?? 0 >= Int64(before.count))
                #expect(report["file"]?.stringValue == file)
                #expect(report["sealingKeyID"]?.stringValue?.isEmpty == false)
                ledger.beginKill()
                try await tasks.waitForAll()
            }
            #expect(try Self.mode(file) == 0o600)
            #expect(!FileManager.default.fileExists(atPath: file + ".unfinished"))
            try KillTestsDatabase.check(file, "the backup")

            // One of them signs out afterwards, and lives again.
            #expect(try await server.signOut(before[0].token).status.code == 303)
            let refused = try await place.run("restore \(file) --yes")
            #expect(refused.code == 1)
            #expect(refused.errors.contains("Stop it first"), "\(refused.errors)")
            #expect(await server.stop() == StartAndStopTests.clean)
            let unasked = try await place.run("restore \(file)")
            #expect(unasked.code == 64 && unasked.errors.contains("--end-sessions"), "\(unasked.errors)")
            #expect(try Self.kept(place).isEmpty)
            let restored = try await place.run("restore \(file) --yes --json")
            #expect(restored.code == 0, "\(restored.errors)")
            let keptAs = try #require(try restored.json["keptAs"]?.stringValue)
            #expect(try Self.kept(place).map { place.dataDirectory + "/" + $0 } == [keptAs])
            #expect(try Self.mode(place.databasePath) == 0o600)
            try KillTestsDatabase.check(keptAs, "what was there before")

            let second = try await place.start(on: group)
            for entry in before {
                #expect(try await second.verify(entry.token).status.code == 204, "\(entry.person.id) is not in it")
            }
            #expect(await second.stop() == StartAndStopTests.clean)

            // What was kept is a backup too: with it, and everybody signed out.
            let back = try await place.run("restore \(keptAs) --yes --end-sessions --json")
            #expect(back.code == 0, "\(back.errors)")
            #expect(try back.json["endedSessions"]?.int64Value == Int64(ledger.sessions.count - 1))
            let third = try await place.start(on: group)
            for entry in ledger.sessions { #expect(try await third.verify(entry.token).status.code == 401) }
            let person = try await simulator.add("afterwards")
            _ = try await third.signIn(person, at: simulator, from: "10.90.200.1")
            #expect(await third.stop() == StartAndStopTests.clean)
            let files = try FileManager.default.contentsOfDirectory(atPath: place.dataDirectory)
            #expect(!files.contains("restoring"))
        }
    }

    @Test func unwritableTargetsAndUnreadableBackupsAreRefusedInOneLine() async throws {
        let place = try ServerPlace()
        let none = try await place.run("backup x.db")
        #expect(none.code == 1 && none.errors.contains("There is no database"), "\(none.errors)")
        try await withLoops { group in _ = await (try place.start(on: group)).stop() }
        let database = place.databasePath
        try place.folder.write("mine", to: "mine.txt")
        #expect(try await place.run("backup x.db").code == 0)
        let before = try Data(contentsOf: URL(filePath: place.folder.path + "/x.db"))
        try place.folder.write(String(repeating: "ef", count: 32) + "\n", to: "other.key")
        for (line, says) in [
            ("backup x.db", "x.db already exists"),
            ("backup mine.txt --force", "is not a Bramley backup"),
            ("backup \(database)", "is the database itself"),
            ("backup \(database) --force", "is the database itself"),
            ("backup data --force", "is not a Bramley backup"),
            ("backup nowhere/x.db", "cannot be written"),
            ("restore mine.txt --yes", "is not a Bramley backup"),
            ("restore missing.db --yes", "does not exist"),
            ("restore \(database) --yes", "is the database itself"),
        ] {
            let result = try await place.run(line)
            #expect(result.code == 1, "\(line): \(result.output)")
            #expect(result.errors.contains(says), "\(line): \(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(line): \(result.errors)")
        }
        #expect(try Data(contentsOf: URL(filePath: place.folder.path + "/x.db")) == before)
        #expect(textOfFile(place.folder.path + "/mine.txt") == "mine")
        let text = try await place.run("backup x.db --force")
        #expect(text.code == 0 && text.output.contains("Back that key up too"), "\(text.errors)")

        // The wrong sealing key, or none: a backup is not put in place that would not open.
        try ResealTests.useKeys(place, "other.key", previous: [])
        let wrong = try await place.run("restore x.db --yes")
        #expect(wrong.code == 1 && wrong.errors.contains("The sealing key does not belong"), "\(wrong.errors)")
        try FileManager.default.removeItem(atPath: place.folder.path + "/other.key")
        let missing = try await place.run("restore x.db --yes")
        #expect(missing.code == 1 && missing.errors.contains("First restore"), "\(missing.errors)")
        #expect(try Self.kept(place).isEmpty)
    }

    /// A new machine: the configuration, the sealing key and the backup are all there is. And a damaged database.
    @Test func aBackupIsRestoredWhereThereIsNoDatabaseAndWhereItIsDamaged() async throws {
        let place = try ServerPlace()
        try await withLoops { group in _ = await (try place.start(on: group)).stop() }
        #expect(try await place.run("backup x.db").code == 0)
        try FileManager.default.removeItem(atPath: place.databasePath)
        let empty = try await place.run("restore x.db --yes --json")
        #expect(empty.code == 0, "\(empty.errors)")
        #expect(try empty.json["keptAs"]?.stringValue == nil)
        try await withLoops { group in
            let server = try await place.start(on: group)
            #expect(await server.stop() == StartAndStopTests.clean)
        }
        let damage = [UInt8](repeating: 0x5A, count: 8192)
        try Data(damage).write(to: URL(filePath: place.databasePath))
        let damaged = try await place.run("restore x.db --yes --json")
        #expect(damaged.code == 0, "\(damaged.errors)")
        let keptAs = try #require(try damaged.json["keptAs"]?.stringValue)
        #expect(try Data(contentsOf: URL(filePath: keptAs)) == Data(damage))
        try await withLoops { group in
            let server = try await place.start(on: group)
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }
}
