extension PostgresConnection: SchemaConnection {
    /// References follow a table that is renamed.
    func withoutReferences(_ body: () throws -> Void) throws { try body() }

    func plainIndexes() throws -> [String] {
        try rows(
            """
            SELECT CAST(indexname AS TEXT) AS name FROM pg_indexes WHERE schemaname = current_schema()
            AND indexname NOT IN (SELECT conname FROM pg_constraint)
            """
        ).map { try $0["name"] }
    }

    func columns(of table: String) throws -> [String] {
        try rows(
            """
            SELECT CAST(column_name AS TEXT) AS name FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position
            """, [table]
        ).map { try $0["name"] }
    }

    /// Of the id that an event had.
    var randomSalt: String { "substring(sha256(convert_to(id, 'UTF8')) for 10)" }

    func continueNumbers(of table: String) throws {
        let column = try rows(
            """
            SELECT CAST(column_name AS TEXT) AS name FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = ? AND is_identity = 'YES'
            """, [table]
        ).first.map { row -> String in try row["name"] }
        guard let column else { return }
        _ = try firstRow(
            """
            SELECT setval(pg_get_serial_sequence(quote_ident(?1), ?2),
                nextval(pg_get_serial_sequence(quote_ident('former_' || ?1), ?2)), false) AS last
            """, [table, column])
    }
}
