import ChildProcesses
import Foundation
import Randomness
import Strangers
import TemporaryFolders
import Testing

/// `kill -9` at random moments of `bramley backup` and `bramley restore`: there is the old file or the new one, whole.
///
/// `BACKUP_KILL_ROUNDS` (6) and `KILL_TEST_SEED` (random, printed) come from the environment.
@Suite struct BackupKillTests {
    private static let users = 12_000

    /// Adds so many users whose ids begin with `mark`.
    private static func fill(_ connection: Stranger, _ mark: String, _ count: Int) throws {
        try connection.execute(
            """
            INSERT INTO user (id, state, given_name, created_at, updated_at)
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
            SELECT ? || x, 'active', hex(randomblob(200)), 0, 0 FROM n
            """, [count, mark])
    }

    /// How many users there are of each mark, in a database that SQLite finds whole.
    private static func marks(_ path: String, _ comment: String) throws -> [String: Int] {
        try KillTestsDatabase.check(path, comment)
        return try KillTestsDatabase.open(path) { connection in
            let rows = try connection.rows(
                "SELECT substr(id, 1, 7), count(*) FROM user GROUP BY substr(id, 1, 7)")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0].text ?? "", $0[1].integer ?? -1) })
        }
    }

    private static func killed(
        _ place: ServerPlace, _ arguments: [String], after delay: Duration
    ) async throws -> ChildProcess.Ending {
        let process = try ChildProcess(
            [try Programs.path("bramley")] + arguments + ["--config", place.configurationPath],
            directory: place.folder.path, outputPath: place.folder.path + "/killed.log")
        // The moment is the test's own choice; there is no event to wait for.
        try await Task.sleep(for: delay)
        await process.killAndWait()
        return process.ending ?? ChildProcess.Ending(code: 0, wasSignalled: true)
    }

    /// Copies the database and its log while the newest rows are only in the log.
    private static func leaveLog(_ place: ServerPlace, copiedTo folder: String) throws {
        let stranger = try Stranger.beside(place.databasePath)
        try stranger.execute("PRAGMA wal_autocheckpoint = 0")
        try fill(stranger, "usr_log", 500)
        // The last connection that closes would move the log into the database.
        try withExtendedLifetime(stranger) {
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: place.databasePath + suffix, toPath: folder + "/present.db" + suffix)
            }
        }
    }

    @Test func killLeavesTheOldFileOrTheNewOne() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["BACKUP_KILL_ROUNDS"].flatMap { Int($0) } ?? 6
        let seed = environment["KILL_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
        print("backup kill test: \(rounds) rounds, KILL_TEST_SEED=\(seed)")
        var random = SeededRandom(seed: seed)
        let place = try ServerPlace()
        try await withLoops { group in _ = await (try place.start(on: group)).stop() }
        let files = FileManager.default
        let folder = place.folder.path

        try KillTestsDatabase.open(place.databasePath) { try Self.fill($0, "usr_old", Self.users) }
        // How long it may take before the kill: shorter after one that was done before, longer after one that was cut.
        var span = try await place.run("backup old.db").duration
        try KillTestsDatabase.open(place.databasePath) {
            try $0.execute("DELETE FROM user")
            try Self.fill($0, "usr_new", Self.users)
        }
        let (old, new) = (["usr_old": Self.users], ["usr_new": Self.users])

        // Backups over an older one.
        var replaced = 0
        for round in 1...rounds {
            let comment = "backup, round \(round), seed \(seed)"
            try? files.removeItem(atPath: folder + "/target.db")
            try files.copyItem(atPath: folder + "/old.db", toPath: folder + "/target.db")
            let delay = span * Double.random(in: 0.05...1.3, using: &random)
            _ = try await Self.killed(place, ["backup", "target.db", "--force"], after: delay)
            let found = try Self.marks(folder + "/target.db", comment)
            #expect(found == old || found == new, "\(comment): \(found)")
            if found == new { replaced += 1 }
            span = span * (found == new ? 0.4 : 1.5)
        }
        let after = try await place.run("backup target.db --force")
        #expect(after.code == 0, "\(after.errors)")
        #expect(!files.fileExists(atPath: folder + "/target.db.unfinished"))
        #expect(try Self.marks(folder + "/target.db", "undisturbed") == new)

        // Restores in the place of a database whose newest rows are in its log alone, as a killed server leaves it.
        try Self.leaveLog(place, copiedTo: folder)
        let present = new.merging(["usr_log": 500]) { $1 }
        var restored = 0
        for round in 1...rounds {
            let comment = "restore, round \(round), seed \(seed)"
            for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: place.databasePath + suffix) }
            for suffix in ["", "-wal"] {
                try files.copyItem(atPath: folder + "/present.db" + suffix, toPath: place.databasePath + suffix)
            }
            let delay = span * Double.random(in: 0.05...1.5, using: &random)
            _ = try await Self.killed(place, ["restore", "old.db", "--yes"], after: delay)
            let found = try Self.marks(place.databasePath, comment)
            #expect(found == present || found == old, "\(comment): \(found)")
            if found == old {
                restored += 1
                let names = try files.contentsOfDirectory(atPath: place.dataDirectory).filter {
                    $0.hasPrefix("bramley.db.before-restore")
                }
                #expect(!names.isEmpty, "\(comment)")
                for name in names {
                    let kept = try Self.marks(place.dataDirectory + "/" + name, comment)
                    #expect(kept == present, "\(comment): \(name)")
                }
            }
            span = span * (found == old ? 0.4 : 1.5)
            for name in try files.contentsOfDirectory(atPath: place.dataDirectory)
            where name.hasPrefix("bramley.db.before-") {
                try files.removeItem(atPath: place.dataDirectory + "/" + name)
            }
        }
        let last = try await place.run("restore old.db --yes")
        #expect(last.code == 0, "\(last.errors)")
        #expect(try Self.marks(place.databasePath, "undisturbed") == old)
        #expect(replaced + restored < 2 * rounds, "no kill came before the end")
        print("backup kill test: \(replaced) backups and \(restored) restores were done before the kill, of \(rounds)")
    }
}
