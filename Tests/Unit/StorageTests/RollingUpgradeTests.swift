import Coding
import Crypto
import LogRecording
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// Two versions over one database, as while servers are updated one after another.
@Suite struct RollingUpgradeTests {
    @Test("an older version continues beside a newer one whose steps admit it, also after a restart")
    func versionsSideBySide() async throws {
        let bench = try Bench()
        func open(_ steps: [SchemaStep]) throws -> Accounts.Database {
            try Database(
                options: bench.options(), keyring: bench.keyring,
                runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: LogRecorder().logger), steps: steps
            )
        }
        let last = try #require(Schema.steps.last)
        let added = SchemaStep(
            name: "9998-added", admits: last.name, sql: "CREATE TABLE added (id INTEGER PRIMARY KEY, note TEXT) STRICT")
        let taken = SchemaStep(name: "9999-taken", sql: "DROP TABLE added")
        let old = try open(Schema.steps)
        let new = try open(Schema.steps + [added])
        for database in [old, new] {
            #expect(try await database.completeSignIn(record(at: bench.clock.now())).session != nil)
            #expect(try await database.store.schemaFits())
            database.close()
        }
        let restarted = try open(Schema.steps)
        #expect(try await restarted.completeSignIn(record(at: bench.clock.now())).session != nil)
        // The version after that takes away what the old one may use.
        let newest = try open(Schema.steps + [added, taken])
        #expect(try await !restarted.store.schemaFits())
        #expect(try await newest.store.schemaFits())
        restarted.close()
        newest.close()
        #expect(throws: StorageOpenError.self) { _ = try open(Schema.steps) }
        #expect(throws: StorageOpenError.self) { _ = try open(Schema.steps + [added]) }
    }
}
