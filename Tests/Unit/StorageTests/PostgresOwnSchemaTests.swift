import Testing

@testable import Accounts
@testable import Storage

/// Every connection searches only one schema, in which nobody else may create anything.
struct PostgresOwnSchemaTests {
    @Test(
        "without a schema from the operator, Bramley's own is used",
        arguments: [
            ("\"$user\", public", "public", "bramley", "public"), ("\"$user\", public", "apple", "bramley", "apple"),
            ("\"$user\", public", "bramley", "bramley", nil), ("\"$user\", public, extensions", nil, "bramley", nil),
            ("", nil, "bramley", nil), ("orchard", "orchard", "orchard", nil),
            ("missing, public", "public", "public", nil),
        ] as [(String, String?, String, String?)])
    func choosesTheSchema(path: String, current: String?, name: String, former: String?) throws {
        let schema = try PostgresOwnSchema(path: path, current: current)
        #expect(schema.name == name && schema.former == former)
    }

    @Test("a missing schema is refused")
    func refusesAMissingSchema() {
        #expect(throws: PostgresError.self) { try PostgresOwnSchema(path: "missing", current: nil) }
    }

    @Test(
        "the path is set on every connection",
        .enabled(if: PostgresCluster.shared != nil, "PostgreSQL is not installed"))
    func setsThePath() throws {
        let cluster = try #require(PostgresCluster.shared)
        let options = try cluster.makeSchema()
        let connection = try cluster.connect(to: options)
        defer { connection.close() }
        let path: String? = try connection.first("SELECT current_setting('search_path') AS path")
        let name = try #require(connection.schema?.name)
        #expect(path == "\(name), pg_temp" && name.hasPrefix("t"))
    }

    @Test(
        "a schema in which others may create is refused, also by commands",
        .enabled(if: PostgresCluster.shared != nil, "PostgreSQL is not installed"))
    func refusesAnOpenSchema() throws {
        let bench = try Bench(isPostgres: true)
        try bench.open().close()
        let postgres = try #require(bench.postgres)
        let connection = try #require(PostgresCluster.shared).connect(to: postgres)
        defer { connection.close() }
        _ = try connection.rows("SELECT 1 AS one")
        let name = try #require(connection.schema?.name)
        try connection.execute(sql: "GRANT CREATE ON SCHEMA \(name) TO PUBLIC")
        var command = bench.options()
        command.store.use = .command
        for options in [bench.options(), command] {
            #expect(throws: StorageOpenError.openSchema("of storage.postgres.url", schema: name, to: ["PUBLIC"])) {
                try bench.open(options).close()
            }
        }
    }
}
