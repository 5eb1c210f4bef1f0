import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts

@Suite(.onSQLite) struct OpeningTests {
    @Test("a new database is durable, private and complete")
    func opensNew() async throws {
        let bench = try Bench()
        let directory = bench.folder.path + "/data"
        #expect(!Store.exists(in: directory))
        let database = try bench.open(bench.options(directory: directory))
        #expect(Store.exists(in: directory))
        try await database.store.ready(at: bench.clock.now())
        #expect(bench.folder.mode("data") == 0o700)
        for name in ["bramley.db", "bramley.db-wal", "bramley.db-shm"] {
            #expect(bench.folder.mode("data/" + name) == 0o600)
        }
        let settings = try database.store.settings()
        #expect(
            settings == [
                "synchronous": "2", "journal_mode": "wal", "secure_delete": "1", "foreign_keys": "1",
                "cache_spill": "0",
            ])
        database.close()
    }

    @Test("every table is STRICT")
    func tablesAreStrict() throws {
        let (bench, database) = try Bench().opened()
        let loose = try bench.stranger().read { connection in
            try connection.texts(
                """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'
                """)
        }
        #expect(loose == [])
        let tables = try bench.stranger().read { connection in
            try Set(connection.texts("SELECT name FROM sqlite_schema WHERE type = 'table'"))
        }
        #expect(
            tables.isSuperset(of: [
                "user", "apple_identity", "apple_credential", "first_consent", "session", "used_attempt",
                "notification", "event", "api_key", "lease", "apple_keys", "meta",
            ]))
        database.close()
    }

    /// Regression: it waited for the reader as long as for another writer, and every writer waited for it.
    @Test("closing does not wait for a reader such as a backup, and leaves the log")
    func closesBesideAReader() async throws {
        let bench = try Bench()
        let leaving = try bench.open(bench.options(busyTimeout: 600_000))
        let staying = try bench.open()
        let reader = try bench.stranger()
        try reader.execute("BEGIN")
        _ = try reader.integer("SELECT count(*) FROM user")
        _ = try await staying.completeSignIn(record(at: bench.clock.now()))
        let start = ContinuousClock.now
        leaving.close()
        #expect(start.duration(to: .now) < .seconds(60))
        let log = try FileManager.default.attributesOfItem(atPath: bench.folder.path + "/bramley.db-wal")
        #expect(log[.size] as? Int ?? 0 > 0)
        #expect(try await staying.completeSignIn(record("bob", at: bench.clock.now())).session != nil)
        try reader.execute("ROLLBACK")
        staying.close()
    }

    /// Opens, expecting one line that names the file or directory and what to do.
    private func expectRefusal(
        _ bench: Bench, _ options: DatabaseOptions? = nil, says words: String, _ matches: (StorageOpenError) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        do {
            let database = try bench.open(options)
            database.close()
            Issue.record("opened", sourceLocation: sourceLocation)
        } catch {
            #expect(matches(error), "\(error)", sourceLocation: sourceLocation)
            #expect(!"\(error)".contains("\n"), sourceLocation: sourceLocation)
            #expect("\(error)".contains(bench.folder.path), sourceLocation: sourceLocation)
            #expect("\(error)".contains(words), "\(error)", sourceLocation: sourceLocation)
        }
    }

    @Test("a directory others may write is refused", arguments: [0o770, 0o777, 0o702])
    func refusesOpenDirectory(mode: Int) throws {
        let bench = try Bench()
        try bench.folder.setMode(mode, "")
        expectRefusal(bench, says: "chmod 700") {
            if case .directoryMode(_, mode) = $0 { true } else { false }
        }
        try bench.folder.setMode(0o700, "")
    }

    @Test("a database others may read is refused", arguments: [0o644, 0o640, 0o604, 0o666])
    func refusesOpenFile(mode: Int) throws {
        let bench = try Bench()
        try bench.open().close()
        try bench.folder.setMode(mode)
        expectRefusal(bench, says: "chmod 600") {
            if case .fileMode(_, mode) = $0 { true } else { false }
        }
    }

    @Test("real and simulated never share a database", arguments: DatabaseOrigin.allCases)
    func refusesOtherOrigin(origin: DatabaseOrigin) throws {
        let bench = try Bench()
        try bench.open(bench.options(origin: origin)).close()
        try bench.open(bench.options(origin: origin)).close()
        let other: DatabaseOrigin = origin == .real ? .simulated : .real
        expectRefusal(bench, bench.options(origin: other), says: origin.rawValue) {
            if case .wrongOrigin(_, origin, other) = $0 { true } else { false }
        }
    }

    @Test("a wrong sealing key is refused; after a rotation the old one is no longer needed")
    func checksSealingKey() throws {
        var bench = try Bench()
        try bench.open().close()
        let next = SealingKey.generate()
        bench.keyring = SealingKeyring(current: next, previous: [])
        expectRefusal(bench, says: "sealing key") {
            if case .wrongSealingKey = $0 { true } else { false }
        }
        bench.keyring = SealingKeyring(current: next, previous: [Bench.key])
        try bench.open().close()
        bench.keyring = SealingKeyring(current: next, previous: [])
        try bench.open().close()
        bench.keyring = SealingKeyring(current: Bench.key, previous: [])
        expectRefusal(bench, says: "sealing key") {
            if case .wrongSealingKey = $0 { true } else { false }
        }
    }

    @Test("two processes that create the same database both succeed")
    func racesToCreate() async throws {
        let bench = try Bench()
        let options = bench.options(busyTimeout: 5_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try bench.open(options).close() } }
            try await group.waitForAll()
        }
        try bench.open().close()
    }

    @Test("the key set is stored as received")
    func archivesKeySet() async throws {
        let (bench, database) = try Bench().opened()
        #expect(try await database.loadKeySet() == nil)
        for text in ["{\"keys\":[]}", "{\"keys\":[1]}"] {
            let keys = StoredKeySet(document: Array(text.utf8), fetchedAt: bench.clock.now())
            try await database.saveKeySet(keys)
            #expect(try await database.loadKeySet() == keys)
        }
        database.close()
    }
}
