import ChildProcesses
import Foundation
import Strangers
import TemporaryFolders
import Testing

/// The first start of a version that changes the schema: a backup before, all of the change or none of it.
@Suite struct MigrationBackupTests {
    private static let next = "0024-openid"

    /// As an older version has left the database.
    private static func age(_ place: ServerPlace) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Support/Former/age.sql")
        let sql = try String(contentsOf: file.standardized, encoding: .utf8)
        try KillTestsDatabase.open(place.databasePath) { try $0.execute(sql) }
    }

    private static func steps(_ path: String) throws -> [String] {
        try KillTestsDatabase.open(path) {
            try $0.texts("SELECT name FROM migration ORDER BY name")
        }
    }

    private static func isNew(_ path: String) throws -> Bool {
        try KillTestsDatabase.open(path) {
            try $0.integer(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'openid_client'") == 1
        }
    }

    @Test func killedMigrationChangesNothingAndTheNextStartCompletesIt() async throws {
        try await withLoops { group in
            let place = try ServerPlace()
            let older = try await place.start(on: group)
            #expect(await older.stop() == StartAndStopTests.clean)
            try Self.age(place)
            let before = try Self.steps(place.databasePath)
            // The step is done, and never ends.
            try KillTestsDatabase.hang(
                place.databasePath, before: "INSERT ON migration WHEN NEW.name = '0024-openid'")
            for name in ["0001-people", "0002-sessions", "0003-notifications"] {
                try place.folder.write("old", to: "data/bramley.db.before-\(name)")
            }
            try place.folder.write("other", to: "data/bramley.db.before-restore-20260101T000000Z")
            let backup = place.databasePath + ".before-" + Self.next
            let process = try place.launch()
            try await eventually("it is in the middle of the step") {
                guard process.ending == nil else { throw SiteError("serve ended: \(process.output)") }
                return try FileManager.default.fileExists(atPath: backup) && ResealKillTests.isLocked(place)
            }
            await process.killAndWait()
            try KillTestsDatabase.check(place.databasePath, "killed in a migration")
            #expect(try Self.steps(place.databasePath) == before)
            #expect(try !Self.isNew(place.databasePath), "half of the change is there")
            try KillTestsDatabase.check(backup, "the backup before the change")
            let attributes = try FileManager.default.attributesOfItem(atPath: backup)
            #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: place.dataDirectory)
            #expect(
                Set(names.filter { $0.hasPrefix("bramley.db.before-") }) == [
                    "bramley.db.before-0003-notifications", "bramley.db.before-\(Self.next)",
                    "bramley.db.before-restore-20260101T000000Z",
                ])

            try KillTestsDatabase.open(place.databasePath) {
                try $0.execute("DROP TRIGGER stuck; DROP VIEW forever")
            }
            let server = try await place.start(on: group)
            #expect(server.process.output.contains("database backed up before the schema change"))
            #expect(await server.stop() == StartAndStopTests.clean)
            #expect(
                try Self.steps(place.databasePath) == [
                    "0023-first-release", Self.next, "0025-logout-tokens", "0026-operator", "0030-narrowed-tokens",
                    "0031-search", "0032-outgoing", "0033-without-passwords", "0034-last-sign-in",
                    "0035-organization", "0036-ended-access", "0037-consent", "0038-device",
                ])
            #expect(try Self.isNew(place.databasePath))
            #expect(try Self.steps(backup) == before)

            // The way back: with the version before. This one brings it up to date again.
            let restored = try await place.run("restore \(backup) --yes")
            #expect(restored.code == 0 && restored.output.contains("updates its schema"), "\(restored.errors)")
            #expect(try Self.steps(place.databasePath) == before)
            let newer = try await place.start(on: group)
            #expect(await newer.stop() == StartAndStopTests.clean)
            #expect(try Self.isNew(place.databasePath))
        }
    }

    /// A file system of five megabytes. Needs the right to mount.
    @Test(.enabled(if: DatabaseFailureFullDiskTests.mayMount, "needs the right to mount a tmpfs"))
    func withoutRoomForTheBackupNothingIsChanged() async throws {
        let place = try ServerPlace()
        let mounted = place.dataDirectory
        try FileManager.default.createDirectory(
            atPath: mounted, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let mount = ["mount", "-t", "tmpfs", "-o", "size=5m,mode=700", "tmpfs", mounted]
        try #expect(FinishedProgram(running: mount).ending.code == 0)
        defer { _ = try? FinishedProgram(running: ["umount", "-l", mounted]) }
        try await withLoops { group in _ = await (try place.start(on: group)).stop() }
        try Self.age(place)
        let before = try Self.steps(place.databasePath)
        let process = try place.launch()
        #expect(await process.waitUntilEnded(within: .seconds(40)).code == 1)
        #expect(process.output.contains("There is not enough space for the backup"), "\(process.output)")
        #expect(try Self.steps(place.databasePath) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: mounted)
        #expect(!names.contains { $0.contains("before-") })
    }
}
