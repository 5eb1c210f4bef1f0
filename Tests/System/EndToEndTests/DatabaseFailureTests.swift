import ChildProcesses
import Foundation
import Glibc
import HTTP
import HTTPTypes
import Strangers
import TemporaryFolders
import Testing

/// A data directory that cannot be used: one line for the operator that says what and where, and exit code 1. Never a
/// crash, and nothing on the disk is changed.
@Suite struct DatabaseFailureTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// What the line must say.
        var says: String
        /// Breaks the data directory of a server that has stopped.
        var damage: @Sendable (ServerPlace) throws -> Void
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "no SQLite at all", says: "is damaged or not an SQLite database") { place in
            try overwrite(place.databasePath, at: 0, with: [UInt8](repeating: 0x5A, count: 8192))
        },
        Case(name: "its schema overwritten", says: "is damaged or not an SQLite database") { place in
            // The first page keeps its 100 bytes of header.
            try overwrite(place.databasePath, at: 100, with: [UInt8](repeating: 0xFF, count: 3996))
        },
        Case(name: "cut short", says: "is damaged or not an SQLite database") { place in
            let handle = try FileHandle(forUpdating: URL(filePath: place.databasePath))
            try handle.truncate(atOffset: 4096)
            try handle.close()
        },
        Case(name: "a newer schema", says: "was written by a newer Bramley: its schema is at") { place in
            try KillTestsDatabase.open(place.databasePath) {
                try $0.execute("INSERT INTO migration (name, applied_at) VALUES ('9999 hovercraft', 0)")
                try $0.execute("UPDATE meta SET value = CAST('9999 hovercraft' AS BLOB) WHERE key = 'oldest-admitted'")
            }
        },
        Case(name: "the wrong stamp", says: "holds real sign-ins and the configured Apple is simulated") { place in
            try KillTestsDatabase.open(place.databasePath) {
                try $0.execute("UPDATE meta SET value = x'7265616c' WHERE key = 'origin'")
            }
        },
        Case(name: "another program's database", says: "is another program's database") { place in
            try KillTestsDatabase.open(place.databasePath) { try $0.execute("PRAGMA application_id = 1") }
        },
        Case(name: "the sealing key missing", says: "sealing.key is missing") { place in
            try FileManager.default.removeItem(atPath: place.dataDirectory + "/sealing.key")
        },
        Case(name: "another sealing key", says: "The sealing key does not belong to the database") { place in
            try place.folder.write(String(repeating: "ab", count: 32) + "\n", to: "data/sealing.key")
        },
        Case(name: "an empty sealing key", says: "does not contain a sealing key") { place in
            try place.folder.write("", to: "data/sealing.key")
        },
        Case(name: "the sealing key open to others", says: "chmod 600") { place in
            try mode(0o644, of: place.dataDirectory + "/sealing.key")
        },
        Case(name: "the database open to others", says: "chmod 600") { place in
            try mode(0o644, of: place.databasePath)
        },
        Case(name: "the directory open to others", says: "chmod 700") { place in
            try mode(0o777, of: place.dataDirectory)
        },
        Case(name: "a directory in the database's place", says: "it is not a file") { place in
            try FileManager.default.removeItem(atPath: place.databasePath)
            try FileManager.default.createDirectory(atPath: place.databasePath, withIntermediateDirectories: false)
        },
        Case(name: "a file in the directory's place", says: "is not a directory") { place in
            try FileManager.default.removeItem(atPath: place.dataDirectory)
            try place.folder.write("", to: "data")
        },
        Case(name: "no directory and no parent", says: "does not exist and neither does its parent") { place in
            try place.configure(
                apple: "http://127.0.0.1:9", dataDirectory: place.folder.path + "/nowhere/near/data")
        },
    ]

    @Test(arguments: DatabaseFailureTests.cases)
    func anUnusableDataDirectoryGivesOneLineAndANonZeroExit(_ test: Case) async throws {
        let place = try ServerPlace()
        try await withLoops { group in _ = await (try place.start(on: group)).stop() }
        try test.damage(place)
        let before = try snapshot(place)
        let lines = try await refusal(of: place)
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.contains(test.says) == true, "\(lines)")
        #expect(lines.first.map { $0.utf8.count < 600 } == true)
        #expect(try snapshot(place) == before, "something was changed")
    }

    /// Root may do everything, so the server runs as nobody when the tests run as root.
    @Test func anUnreadableDatabaseGivesOneLineAndANonZeroExit() async throws {
        try await asSomebodyWithoutRights { place, prefix in
            try mode(0o000, of: place.databasePath)
            let lines = try await refusal(of: place, prefix: prefix)
            #expect(lines.count == 1 && lines[0].contains("permission denied"), "\(lines)")
        }
    }

    @Test func unwritableDirectoryGivesOneLineAndANonZeroExit() async throws {
        try await asSomebodyWithoutRights { place, prefix in
            // The log of writes is a file of its own: without it a database cannot be opened.
            try mode(0o500, of: place.dataDirectory)
            defer { try? mode(0o700, of: place.dataDirectory) }
            let lines = try await refusal(of: place, prefix: prefix)
            #expect(lines.count == 1, "\(lines)")
        }
    }

    /// Another process that never lets go of the write lock.
    @Test func lockedDatabaseIsReportedAtTheStartAndA503Later() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let server = try await place.start(on: group)
            let old = try await server.signIn(TestPerson("ada"), at: simulator, from: "10.30.0.1")
            let attempt = try await server.begin(from: "10.30.0.2")
            let form = try await simulator.authorize(TestPerson("boris"), at: attempt.location)

            let holder = try Stranger.beside(place.databasePath)
            try holder.execute("BEGIN IMMEDIATE")
            let start = ContinuousClock.now
            async let answer = server.callback(attempt, form.body)
            async let ready = server.admin.get("/readyz")
            for _ in 0..<20 { #expect(try await server.verify(old).status.code == 204) }
            #expect(ContinuousClock.now - start < .seconds(60), "sessions waited for the lock")
            let refused = try await answer
            #expect(refused.status.code == 503)
            #expect(try await ready.status.code == 503)
            #expect(server.process.output.contains("reason=storage") || server.process.output.contains("storage"))
            // A sign-out that was not written is not confirmed either.
            let signOut = try await server.signOut(old)
            #expect(signOut.status.code == 503)
            #expect(signOut.cookie(RunningServer.sessionCookie) == nil && signOut.fields[.setCookie] == nil)
            #expect(try await server.verify(old).status.code == 204)
            try holder.execute("ROLLBACK")

            #expect(try await server.callback(attempt, form.body).status.code == 303)
            #expect(try await server.admin.get("/readyz").status.code == 200)
            #expect(try await server.signOut(old).status.code == 303)
            await server.stop()

            try holder.execute("BEGIN IMMEDIATE")
            let lines = try await refusal(of: place)
            #expect(lines.count == 1 && lines[0].contains("is locked by another process"), "\(lines)")
            try holder.execute("ROLLBACK")
        }
    }

    /// The middle of the file goes bad under a running server, or before its start: errors, not a crash, and never an
    /// answer that says more than is known.
    @Test func aDamagedPageIsA503OrARefusalAndNeverACrash() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let first = try await place.start(on: group)
            var tokens: [String] = []
            for index in 0..<20 {
                tokens.append(try await first.signIn(TestPerson("ada"), at: simulator, from: "10.31.0.\(index)"))
            }
            await first.stop()
            let pages = try KillTestsDatabase.open(place.databasePath) { connection in
                try connection.integers(
                    "SELECT rootpage FROM sqlite_schema WHERE rootpage > 1 AND tbl_name IN ('session', 'user')")
            }
            #expect(!pages.isEmpty)
            for page in pages {
                try overwrite(
                    place.databasePath, at: UInt64(page - 1) * 4096, with: [UInt8](repeating: 0xEE, count: 4096))
            }
            guard let second = try? await place.start(on: group) else {
                #expect(try await refusal(of: place).count == 1)
                return
            }
            for token in tokens {
                #expect(try await second.verify(token).status.code == 503)
                #expect(try await second.session(token).status.code == 503)
            }
            let attempt = try await second.begin(from: "10.31.1.1")
            let form = try await simulator.authorize(TestPerson("boris"), at: attempt.location)
            #expect(try await second.callback(attempt, form.body).status.code == 503)
            #expect(second.process.ending == nil, "the server crashed")
            #expect(await second.stop() == ChildProcess.Ending(code: 0, wasSignalled: false))
        }
    }

    /// Starts `serve`, expects exit code 1, and gives the lines it wrote.
    private func refusal(of place: ServerPlace, prefix: [String] = []) async throws -> [String] {
        let path = place.folder.path + "/refusal-\(UUID().uuidString).log"
        let process = try ChildProcess(
            prefix + place.command("serve"), directory: place.folder.path, outputPath: path)
        let ending = await process.waitUntilEnded(within: .seconds(20))
        #expect(ending == ChildProcess.Ending(code: 1, wasSignalled: false), "\(process.output.suffix(1000))")
        // What the check of the configuration finds is counted in a last line.
        return process.output.split(separator: "\n").map(String.init).filter { $0 != "1 error" }
    }

    /// Name, mode and bytes of everything in the data directory but the lock and SQLite's own scratch files.
    private func snapshot(_ place: ServerPlace) throws -> [String: Data] {
        let files = FileManager.default
        var found: [String: Data] = [:]
        for name in (try? files.contentsOfDirectory(atPath: place.dataDirectory)) ?? [] {
            if name.hasSuffix("-shm") || name.hasSuffix("-wal") || name.hasSuffix(".lock") { continue }
            found[name] = files.contents(atPath: place.dataDirectory + "/" + name) ?? Data()
        }
        return found
    }

    /// Runs `body` with a place that has been served once, and what to put before the command line.
    private func asSomebodyWithoutRights(
        _ body: (ServerPlace, [String]) async throws -> Void
    ) async throws {
        let place = try ServerPlace()
        var prefix: [String] = []
        if getuid() == 0 {
            prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
            for name in ["", "/AuthKey.p8", "/config.json"] {
                try FileManager.default.setAttributes(
                    [.ownerAccountID: 65534, .groupOwnerAccountID: 65534], ofItemAtPath: place.folder.path + name)
            }
        }
        try await withLoops { group in _ = await (try place.start(on: group, prefix: prefix)).stop() }
        try await body(place, prefix)
    }
}

private func overwrite(_ path: String, at offset: UInt64, with bytes: [UInt8]) throws {
    let handle = try FileHandle(forUpdating: URL(filePath: path))
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
}

private func mode(_ mode: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}
