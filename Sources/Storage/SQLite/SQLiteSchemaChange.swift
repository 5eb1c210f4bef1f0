extension SQLiteConnection: SchemaConnection {
    /// References keep naming a table that is renamed, and a table that is dropped takes no rows of others with it.
    func withoutReferences(_ body: () throws -> Void) throws {
        try execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
        defer { try? execute(sql: "PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON") }
        try body()
    }

    func plainIndexes() throws -> [String] {
        try rows("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").map { try $0["name"] }
    }

    func columns(of table: String) throws -> [String] {
        try rows("SELECT name FROM pragma_table_info(?) ORDER BY cid", [table]).map { try $0["name"] }
    }

    var randomSalt: String { "randomblob(10)" }

    func continueNumbers(of table: String) throws {
        guard try firstRow("SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'", [table]) != nil
        else { return }
        try run("DELETE FROM sqlite_sequence WHERE name = ?", [table])
        try run(
            "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, seq FROM sqlite_sequence WHERE name = 'former_' || ?1",
            [table])
    }
}
