import Foundation
import Gates
import Strangers
import Synchronization
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

@Suite(.onSQLite) final class ConnectionTests {
    private let path: String
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path + "/a.db"
        try Stranger(path).execute(
            """
            PRAGMA journal_mode = WAL; CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
            CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED) STRICT;
            """)
    }

    private func open(isReadOnly: Bool = false, busyTimeout: Int = 0) throws -> SQLiteConnection {
        try SQLiteConnection(path: path, isReadOnly: isReadOnly, busyTimeout: busyTimeout)
    }

    private static let count = "SELECT count(*) FROM parent"

    @Test("a reader sees one snapshot while a writer commits, and does not delay it")
    func readsOneSnapshot() throws {
        let writer = try open()
        let reader = try open(isReadOnly: true)
        try reader.inTransaction(.read) {
            #expect(try reader.integer(Self.count) == 0)
            try writer.inTransaction { try writer.run("INSERT INTO parent VALUES (1)") }
            #expect(try writer.integer(Self.count) == 1)
            #expect(try reader.integer(Self.count) == 0)
        }
        #expect(try reader.integer(Self.count) == 1)
    }

    @Test("a writer gets the lock soon, even if another process takes it repeatedly")
    func waitsItsTurn() async throws {
        let (other, waiting) = (try Stranger(path, patience: 20_000), try open(busyTimeout: 20_000))
        let turns = Turns()
        try await withThrowingTaskGroup { group in
            group.addTask {
                while !turns.areOver.load(ordering: .relaxed) {
                    try other.execute("BEGIN IMMEDIATE")
                    usleep(25_000)
                    try other.execute("COMMIT")
                    turns.count.add(1, ordering: .relaxed)
                    usleep(5_000)
                }
            }
            group.addTask {
                defer { turns.areOver.store(true, ordering: .relaxed) }
                var waited = 0
                for number in 0..<30 {
                    usleep(3_000)
                    let before = turns.count.load(ordering: .relaxed)
                    try waiting.inTransaction { try waiting.run("INSERT INTO parent VALUES (?)", [number]) }
                    waited += turns.count.load(ordering: .relaxed) - before
                }
                // SQLite's own way of waiting misses five of six.
                #expect(waited <= 100)
            }
            try await group.waitForAll()
        }
    }

    @Test("a read of several statements is one snapshot beside other processes' writes")
    func readsOneSnapshotOfTheDatabase() async throws {
        let (bench, database) = try Bench().opened()
        let stranger = try bench.stranger()
        let name = "SELECT value FROM meta WHERE key = 'snapshot'"
        let found = try await database.read { connection in
            let before = try connection.exists(name)
            try stranger.execute("INSERT INTO meta (key, value) VALUES ('snapshot', x'01')")
            return (before, try connection.exists(name))
        }
        #expect(found == (false, false))
        #expect(try await database.read { try $0.exists(name) })
    }

    @Test("a transaction whose COMMIT fails leaves nothing, and the next one works")
    func leavesNothingOfAFailedCommit() throws {
        let connection = try open()
        let error = #expect(throws: SQLiteError.self) {
            try connection.inTransaction {
                try connection.run("INSERT INTO parent VALUES (1)")
                try connection.run("INSERT INTO child VALUES (2)")
            }
        }
        #expect(error?.message == "FOREIGN KEY constraint failed")
        #expect(!connection.isInsideTransaction)
        try connection.inTransaction { try connection.run("INSERT INTO parent VALUES (3)") }
        #expect(try connection.rows("SELECT id FROM parent").map { Int64($0.values[0]) } == [3])
    }

    @Test("a transaction that was left open is rolled back by the next")
    func beginsAnew() throws {
        let connection = try open()
        try connection.begin(.write)
        try connection.run("INSERT INTO parent VALUES (1)")
        try connection.inTransaction { try connection.run("INSERT INTO parent VALUES (2)") }
        #expect(try connection.rows("SELECT id FROM parent").map { Int64($0.values[0]) } == [2])
    }

    @Test("another connection's lock is awaited exactly as long as configured", arguments: [0, 150])
    func waitsForALock(milliseconds: Int) throws {
        let connection = try open(busyTimeout: milliseconds)
        let stranger = try Stranger(path)
        try stranger.execute("BEGIN IMMEDIATE")
        let start = ContinuousClock.now
        let error = #expect(throws: SQLiteError.self) { try connection.begin(.write) }
        #expect(error?.code == 5)
        #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
        #expect(start.duration(to: .now) < .seconds(60))
        #expect(try connection.integer(Self.count) == 0, "reads do not wait")
        try stranger.execute("ROLLBACK")
        try connection.inTransaction { try connection.run("INSERT INTO parent VALUES (1)") }
    }

    @Test("a write succeeds when the lock is released in time")
    func waitsUntilALockIsGone() async throws {
        let queue = ConnectionQueue(try open(busyTimeout: 600_000), label: "test")
        let stranger = try Stranger(path)
        try stranger.execute("BEGIN IMMEDIATE")
        let begins = Gate()
        begins.shut()
        async let count: Int64? = withCheckedContinuation { (continuation: CheckedContinuation<Int64?, Never>) in
            queue.async { connection in
                begins.open()
                let count = try? connection.inTransaction {
                    try connection.run("INSERT INTO parent VALUES (1)")
                    return try connection.integer(Self.count)
                }
                continuation.resume(returning: count ?? nil)
            }
        }
        await begins.pass()
        try stranger.execute("COMMIT")
        #expect(await count == 1)
        queue.close()
    }

    @Test("a closing queue finishes accepted work and refuses later work")
    func closesAfterPendingWork() throws {
        let queue = ConnectionQueue(try open(), label: "test")
        let done = Mutex(0)
        for number in 1...50 {
            queue.async { connection in
                if (try? connection.run("INSERT INTO parent VALUES (?)", [number])) != nil { done.withLock { $0 += 1 } }
            }
        }
        queue.close()
        #expect(done.withLock { $0 } == 50)
        let error = #expect(throws: SQLiteError.self) { try queue.sync { try $0.integer(Self.count) } }
        #expect(error == .closed)
        queue.close()
    }

    @Test("a look-up during closing succeeds and closes its connection; later ones are refused")
    func closesWithReadersActive() throws {
        let readers = ReadConnections(Connections(path: path, busyTimeout: 0, use: .server))
        var kept: (any EngineConnection)?
        try readers.read { connection in
            readers.close()
            kept = connection
            let count = try connection.integer(Self.count)
            #expect(count == 0)
        }
        #expect(throws: SQLiteError.closed) { _ = try kept?.integer(Self.count) }
        #expect(throws: StoreError.unavailable("the database is closed")) {
            try readers.read { _ = try $0.integer("SELECT 1") }
        }
    }

    @Test("a statement is interrupted from another thread, and the connection works on")
    func isInterrupted() async throws {
        let connection = try open(isReadOnly: true)
        let queue = ConnectionQueue(connection, label: "test")
        let code = Mutex<Int32?>(nil)
        queue.async { connection in
            do {
                try connection.run(
                    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n")
            } catch {
                code.withLock { $0 = (error as? SQLiteError)?.code ?? -1 }
            }
        }
        while code.withLock({ $0 }) == nil {
            connection.interrupt()
            await Task.yield()
        }
        #expect(code.withLock { $0 } == 9)
        #expect(try queue.sync { try $0.integer("SELECT 1") } == 1)
        queue.close()
    }

    @Test("a read-only connection cannot write or create a file")
    func readsOnly() throws {
        let reader = try open(isReadOnly: true)
        let write = #expect(throws: SQLiteError.self) { try reader.run("INSERT INTO parent VALUES (1)") }
        #expect(write?.code == 8)
        let missing = path + ".missing"
        let open = #expect(throws: SQLiteError.self) {
            try SQLiteConnection(path: missing, isReadOnly: true, busyTimeout: 0)
        }
        #expect(open?.code == 14)
        #expect(!FileManager.default.fileExists(atPath: missing))
    }

    @Test("a file that SQLite cannot read is refused when it is opened")
    func refusesGarbage() throws {
        try Data(repeating: 0x41, count: 8_192).write(to: URL(filePath: path))
        try? FileManager.default.removeItem(atPath: path + "-wal")
        let error = #expect(throws: SQLiteError.self) { try open() }
        #expect(error?.code == 26)
    }

    @Test("references are enforced, and a name in double quotes is never a text")
    func isStrict() throws {
        let connection = try open()
        #expect(try connection.first("PRAGMA foreign_keys") == 1)
        #expect(throws: SQLiteError.self) { try connection.run("SELECT \"nothing\"") }
    }

    @Test("an error during a copy ends it, and both connections still work")
    func copiesUntilInterrupted() throws {
        struct Enough: Error {}
        let source = try open()
        try source.inTransaction {
            for number in 0..<20_000 { try source.run("INSERT INTO parent VALUES (?)", [number]) }
        }
        let copy = try SQLiteConnection(path: ":memory:", busyTimeout: 0)
        var steps = 0
        #expect(throws: Enough.self) {
            try source.copy(to: copy, pagesPerStep: 1) { pages, total in
                #expect(pages == steps + 1 && total > 10)
                steps += 1
                if steps == 5 { throw Enough() }
            }
        }
        #expect(steps == 5)
        try source.copy(to: copy, pagesPerStep: 16) { _, _ in }
        #expect(try copy.integer(Self.count) == 20_000)
        #expect(try source.integer(Self.count) == 20_000)
    }
}

private final class Turns: Sendable {
    let count = Atomic(0)
    let areOver = Atomic(false)
}
