import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Synchronization
import TemporaryFolders
import Testing

@testable import Accounts

@Suite(.onSQLite) struct BackupTests {
    /// An empty file to copy into, as `bramley backup` makes it.
    private func emptyFile(_ bench: Bench, _ name: String = "copy.db") throws -> String {
        let path = bench.folder.path + "/" + name
        try Data().write(to: URL(filePath: path))
        try bench.folder.setMode(0o600, name)
        return path
    }

    /// More than one step of a copy.
    private func fill(_ bench: Bench) throws {
        try bench.stranger().write {
            try $0.execute(
                """
                INSERT INTO user (id, state, given_name, created_at, updated_at)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 12000)
                SELECT 'usr_' || x, 'active', hex(randomblob(200)), 0, 0 FROM n
                """)
        }
    }

    private func sessions(in path: String) throws -> Set<[UInt8]> {
        Set(try Stranger(path).rows("SELECT token_hash FROM session").compactMap { $0[0].blob })
    }

    @Test("a copy during writes has every earlier acknowledged sign-in, and is one complete, private file")
    func copiesBesideWriters() async throws {
        let (bench, database) = try Bench().opened()
        defer { database.close() }
        let now = bench.clock.now()
        try fill(bench)
        let path = try emptyFile(bench)
        let ledger = SessionLedger()
        let (before, steps) = try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var number = 0
                    while !ledger.isClosed {
                        number += 1
                        let session = try #require(
                            try await database.completeSignIn(record("w\(worker)n\(number)", at: now)).session)
                        ledger.add(session.tokenHash.bytes)
                    }
                }
            }
            while ledger.sessions.count < 50 { await Task.yield() }
            let before = ledger.sessions
            var steps: [DatabaseCopy.Progress] = []
            try DatabaseCopy.write(bench.folder.path + "/bramley.db", to: path) { progress in
                steps.append(progress)
            }
            ledger.close()
            try await group.waitForAll()
            return (before, steps)
        }
        #expect(steps.count > 1)
        #expect(steps.last.map { $0.pages == $0.total } == true)
        let contents = try DatabaseExamination.examine(path, at: now)
        let copied = try sessions(in: path)
        #expect(copied.isSuperset(of: before))
        #expect(copied.isSubset(of: ledger.sessions))
        #expect(contents.sessions == copied.count)
        #expect(!contents.file.isOlder && contents.file.sealingKeyID == bench.keyring.currentKeyID)
        #expect(bench.folder.mode("copy.db") == 0o600)
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(names.filter { $0.hasPrefix("copy.db") } == ["copy.db"])
    }

    @Test("a copy interrupted between two steps throws the interruption")
    func endsBetweenSteps() async throws {
        let bench = try Bench()
        try bench.open().close()
        try fill(bench)
        let path = try emptyFile(bench)
        #expect(throws: CancellationError.self) {
            try DatabaseCopy.write(bench.folder.path + "/bramley.db", to: path) { _ in throw CancellationError() }
        }
    }

    struct Flaw: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var says: String
        var sql: String
    }

    @Test(
        "an unusable backup is refused by name",
        arguments: [
            Flaw(
                testDescription: "newer", says: "9999-future",
                sql: """
                    INSERT INTO migration (name, applied_at) VALUES ('9999-future', 0);
                    UPDATE meta SET value = CAST('9999-future' AS BLOB) WHERE key = 'oldest-admitted'
                    """),
            Flaw(testDescription: "foreign", says: "another program", sql: "PRAGMA application_id = 1"),
            Flaw(
                testDescription: "an orphan", says: "refers to a row that is missing",
                sql: "PRAGMA foreign_keys = OFF; DELETE FROM user"),
            Flaw(
                testDescription: "an index that disagrees", says: "damaged",
                sql: """
                    PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage =
                    (SELECT rootpage FROM sqlite_schema WHERE name = 'session_user') WHERE name = 'session_examination'
                    """),
            Flaw(
                testDescription: "simulated", says: "holds simulated sign-ins",
                sql: "UPDATE meta SET value = CAST('simulated' AS BLOB) WHERE key = 'origin'"),
        ])
    func refuses(flaw: Flaw) async throws {
        let (bench, database) = try Bench().opened()
        _ = try await database.completeSignIn(record(at: bench.clock.now()))
        database.close()
        let path = bench.folder.path + "/bramley.db"
        _ = try DatabaseExamination.examine(path, keyring: bench.keyring, origin: .real, at: bench.clock.now())
        try bench.stranger().execute(flaw.sql)
        do {
            _ = try DatabaseExamination.examine(path, keyring: bench.keyring, origin: .real, at: bench.clock.now())
            Issue.record("taken for good")
        } catch {
            #expect("\(error)".contains(flaw.says), "\(error)")
        }
    }

    @Test("without a keyring, too, a database must have the expected origin")
    func checksOriginAlone() throws {
        let bench = try Bench()
        try bench.open().close()
        let path = bench.folder.path + "/bramley.db"
        func examine(_ origin: DatabaseOrigin) throws(StorageOpenError) {
            _ = try DatabaseExamination.examine(path, origin: origin, at: bench.clock.now())
        }
        try examine(.real)
        #expect(throws: StorageOpenError.wrongOrigin(path, found: .real, expected: .simulated)) {
            try examine(.simulated)
        }
        try bench.stranger().execute("DELETE FROM meta WHERE key = 'origin'")
        #expect(throws: StorageOpenError.corrupt(path, detail: "it has no origin")) { try examine(.simulated) }
    }

    @Test("a database that is open elsewhere is not merged into one file")
    func settlesNoOpenDatabase() throws {
        let bench = try Bench()
        let path = bench.folder.path + "/bramley.db"
        let database = try bench.open()
        #expect(throws: StorageOpenError.locked(path)) { try DatabaseCopy.settle(path) }
        database.close()
        try DatabaseCopy.settle(path)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    @Test("the first missing step is reported, and none for a new or current database")
    func reportsPendingStep() throws {
        let bench = try Bench()
        #expect(try Store.pendingStep(bench.options().store, steps: Schema.steps, keyring: bench.keyring) == nil)
        try bench.open().close()
        #expect(try Store.pendingStep(bench.options().store, steps: Schema.steps, keyring: bench.keyring) == nil)
        try bench.stranger().write {
            try $0.execute("DELETE FROM migration")
        }
        let pending = try #require(
            try Store.pendingStep(bench.options().store, steps: Schema.steps, keyring: bench.keyring))
        #expect(pending.name == "0023-first-release")
        #expect(pending.bytes > 4096)
    }
}

/// Sessions of people who were answered.
private final class SessionLedger: Sendable {
    private let state = Mutex<(sessions: Set<[UInt8]>, isClosed: Bool)>(([], false))

    var sessions: Set<[UInt8]> { state.withLock { $0.sessions } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func add(_ session: [UInt8]) { state.withLock { _ = $0.sessions.insert(session) } }
    func close() { state.withLock { $0.isClosed = true } }
}
