import Coding
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// What PostgreSQL keeps of each process that used it.
@Suite(.enabled(if: PostgresCluster.shared != nil, "PostgreSQL is not installed"))
struct PostgresProcessTests {
    @Test("rows of ended processes go after a day, and a running one keeps its own")
    func forgotten() async throws {
        let (bench, database) = try Bench(isPostgres: true).opened()
        let stranger = try bench.stranger()
        let day = 86_400_000
        for (name, age) in [("gone", day + 60_000), ("late", day - 60_000)] {
            try stranger.execute(
                """
                INSERT INTO store_poll (id, polled_at)
                SELECT '\(name)', CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT) - \(age)
                """)
            try stranger.execute("INSERT INTO store_node (id, receipt) VALUES ('\(name)', 'x')")
        }
        func processes(_ table: String) throws -> Set<String> { try Set(stranger.texts("SELECT id FROM \(table)")) }
        let before = try processes("store_poll")
        #expect(before.count == 3 && before.isSuperset(of: ["gone", "late"]))
        _ = try await database.maintain(at: bench.clock.now())
        for table in ["store_poll", "store_node"] { #expect(try processes(table) == before.subtracting(["gone"])) }
    }
}
