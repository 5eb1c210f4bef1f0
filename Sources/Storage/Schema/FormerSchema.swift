import Coding

/// The schema of before the first release, 22 steps that grew one after another, and its replacement by `Schema.first`.
///
/// Every table is made anew and filled from the former one, so that such a database is what a new one would be.
enum FormerSchema {
    /// The only step from which a database can be brought up to date.
    static let last = "0022-events-by-order"

    /// Whether a name in `migration` is of a step before the first release.
    static func isStep(_ name: String) -> Bool { name < Schema.first.name }

    /// In a transaction that does not enforce references while tables are renamed (`withoutReferences`).
    static func replace(on connection: any SchemaConnection, at now: Timestamp) throws {
        for index in try connection.plainIndexes() { try connection.run("DROP INDEX \(index)") }
        for table in tables { try connection.run("ALTER TABLE \(table) RENAME TO former_\(table)") }
        try connection.define(Schema.first.sql)
        for table in tables {
            let former = Set(try connection.columns(of: "former_\(table)"))
            let columns = try connection.columns(of: table).filter { former.contains($0) || $0 == "salt" }
            // An event's id was a column of its own; now it follows from the sequence and this.
            let values = columns.map { $0 == "salt" ? connection.randomSalt : $0 }
            try connection.run(
                """
                INSERT INTO \(table) (\(columns.joined(separator: ", ")))
                SELECT \(values.joined(separator: ", ")) FROM former_\(table)
                """)
            try connection.continueNumbers(of: table)
        }
        // An app's attempts, whose identifiers now begin with their time as well: nothing would find these rows.
        try connection.run(
            "DELETE FROM used_attempt WHERE attempt > ?",
            [[UInt8](bigEndian: now.adding(seconds: 86_400).milliseconds << 16)])
        for table in tables.reversed() { try connection.run("DROP TABLE former_\(table)") }
        try connection.run("DELETE FROM migration WHERE name < ?", [Schema.first.name])
    }

    private static let tables = Schema.first.tables
}

/// A connection whose tables can be replaced.
protocol SchemaConnection: EngineConnection {
    /// Runs `body`, which begins and ends a transaction, so that tables can be replaced that others refer to.
    func withoutReferences(_ body: () throws -> Void) throws
    /// The indexes that no constraint of a table has made.
    func plainIndexes() throws -> [String]
    func columns(of table: String) throws -> [String]
    /// An expression for ten random bytes.
    var randomSalt: String { get }
    /// Lets the numbers that a table gives out go on from those of its former one.
    func continueNumbers(of table: String) throws
}

extension SchemaConnection {
    /// Whether its database has the steps of `FormerSchema`.
    func hasFormerSchema() throws -> Bool {
        try tables().contains("migration")
            && firstRow("SELECT name FROM migration WHERE name = ?", [FormerSchema.last]) != nil
    }
}
