package import Coding
package import Crypto
package import RelyingParty

/// A table that was moved, the same on both sides.
package struct MovedTable: Hashable, Sendable {
    package var name: String
    package var rows: Int
    /// Of all rows in the order of their keys.
    package var digest: Digest256
}

/// Copies a whole database to the other engine while nobody else writes to either, compares the two, and marks the
/// source as moved: nothing opens it any more.
///
/// The copy is one transaction of the target, which nothing opens until the source is marked. So never are both in use,
/// whatever is cut, and `bramley move` again, with the same target, ends it.
package struct DatabaseMove {
    /// Rows read, and written, at once.
    private static let page = 256

    private let source: Database
    private let target: Database
    /// The side whose schema describes itself in a way that we read.
    private var sqlite: Database { source.isShared ? target : source }

    /// - Parameter target: opened for a server, so that it has the schema.
    package init(from source: Database, to target: Database) {
        self.source = source
        self.target = target
    }

    /// Whether an earlier move, with this target, has marked the source and nothing more.
    package func isToBeEnded() async throws(StoreError) -> Bool {
        let left = try await target.read { snapshot in try snapshot.stored(Migrations.unfinishedMoveID) }
        let marked = try await source.read { snapshot in
            try snapshot.stored(Migrations.movedTo).flatMap { _ in try snapshot.stored(Migrations.moveID) }
        }
        return left != nil && left == marked
    }

    /// Where the source was moved to; nil: it is in use.
    package func formerTarget() async throws(StoreError) -> String? {
        try await source.read { snapshot in
            try snapshot.stored(Migrations.movedTo).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The last step: from now on the target may be used.
    package func end() async throws(StoreError) {
        try await target.write { transaction in try transaction.forget(Migrations.unfinishedMoveID) }
    }

    /// Whether the target holds nothing yet, or only the copy of a move that was cut.
    package func isTargetEmpty() async throws(StoreError) -> Bool {
        try await target.read { snapshot in
            if try snapshot.stored(Migrations.unfinishedMoveID) != nil { return true }
            return try ["user", "event", "audit", "api_key", "openid_client"].allSatisfy {
                try !snapshot.exists("SELECT 1 FROM \($0) LIMIT 1")
            }
        }
    }

    /// Whether other servers use it. On PostgreSQL their polls show it; SQLite's are kept away by a lock.
    package static func isInUse(_ database: Database) async throws(StoreError) -> Bool {
        guard let engine = database.engine as? PostgresEngine else { return false }
        let before = try await engine.lastOtherPoll()
        // Longer than two polls of one that nobody asks.
        PostgresSession.pause(milliseconds: 5_500)
        return try await engine.lastOtherPoll() != before
    }

    /// Copies, and marks the source. Blocks the calling thread. `end` must follow.
    /// - Parameters:
    ///   - place: of the target, as whoever opens the source is told.
    ///   - id: of this move.
    package func run(to place: String, id: [UInt8], at now: Timestamp) throws(StoreError) -> [MovedTable] {
        do {
            let tables = try sqlite.engine.writer.sync { try MovingTable.all($0) }
            return try source.engine.writer.sync { from in
                try from.inTransaction {
                    try from.awaitOtherSide()
                    let moved = try target.engine.writer.sync { into in
                        if !target.isShared { try into.execute(sql: "PRAGMA cache_spill = ON") }
                        return try into.inTransaction {
                            let moved = try copy(tables, from, into)
                            try Transaction(into, target.context, at: now).store(Migrations.unfinishedMoveID, id)
                            return moved
                        }
                    }
                    let mark = Transaction(from, source.context, at: now)
                    try mark.store(Migrations.movedTo, Array(place.utf8))
                    try mark.store(Migrations.moveID, id)
                    return moved
                }
            }
        } catch {
            throw StoreError(error)
        }
    }

    private func copy(
        _ tables: [MovingTable], _ from: any EngineConnection, _ into: any EngineConnection
    ) throws -> [MovedTable] {
        try into.awaitOtherSide()
        // What the schema's steps and the first start have written; referring rows first.
        for table in tables.reversed() { try into.run("DELETE FROM \(table.name)") }
        var moved: [MovedTable] = []
        for table in tables {
            let read = try table.eachPage(of: from, rows: Self.page) { try table.insert($0, into, at: Self.page) }
            if let column = table.counted {
                let last = try sourceCounter(table.name, column, from)
                try setCounter(table.name, column, last, into)
            }
            guard try table.eachPage(of: into, rows: Self.page, { _ in }) == read else {
                throw StoreError.inconsistent("the copy of table \(table.name) differs")
            }
            moved.append(read)
        }
        return moved
    }

    // MARK: Numbers that a table gives out

    /// The last number given, also when its row was deleted since.
    private func sourceCounter(_ table: String, _ column: String, _ connection: any EngineConnection) throws -> Int64 {
        var given: Int64?
        if !source.isShared {
            given = try connection.first("SELECT seq FROM sqlite_sequence WHERE name = ?", [table])
        } else if let sequence = try sequence(table, column, connection) {
            given = try connection.first(
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM \(sequence)")
        }
        return max(given ?? 0, try connection.first("SELECT max(\(column)) AS last FROM \(table)") ?? 0)
    }

    private func setCounter(
        _ table: String, _ column: String, _ last: Int64, _ connection: any EngineConnection
    ) throws {
        guard last > 0 else { return }
        if target.isShared {
            guard let sequence = try sequence(table, column, connection) else { return }
            _ = try connection.firstRow("SELECT setval(CAST('\(sequence)' AS regclass), ?) AS last", [last])
        } else if try connection.run("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", [last, table]) == 0 {
            try connection.run(
                """
                INSERT INTO sqlite_sequence (name, seq)
                SELECT name, ? FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'
                """, [last, table])
        }
    }

    /// Of an identity column of PostgreSQL's.
    private func sequence(_ table: String, _ column: String, _ connection: any EngineConnection) throws -> String? {
        try connection.first("SELECT pg_get_serial_sequence(quote_ident(?), ?) AS name", [table, column])
    }
}

/// A table as both engines have it.
private struct MovingTable {
    let name: String
    let columns: [String]
    /// Of the primary key, in its order.
    let key: [String]
    /// Numbered by the engine.
    let counted: String?

    /// Those that others refer to come first: a step of the schema refers to tables of earlier steps.
    static func all(_ connection: any EngineConnection) throws -> [MovingTable] {
        let names = try connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid"
        ).map { row -> String in try row["name"] }
        return try names.map { name in
            let rows = try connection.rows("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", [name])
            let columns = try rows.map { row -> (name: String, type: String, place: Int) in
                (try row["name"], try row["type"], try row["pk"])
            }
            let key = columns.filter { $0.place > 0 }.sorted { $0.place < $1.place }
            guard !key.isEmpty else { throw StoreError.inconsistent("table \(name) has no primary key") }
            let counted = key.count == 1 && key[0].type == "INTEGER" ? key[0].name : nil
            return MovingTable(name: name, columns: columns.map(\.name), key: key.map(\.name), counted: counted)
        }
    }

    /// All rows, in the order of the key.
    func eachPage(
        of connection: any EngineConnection, rows limit: Int, _ body: ([Row]) throws -> Void
    ) throws -> MovedTable {
        let (list, order) = (columns.joined(separator: ", "), key.joined(separator: ", "))
        let marks = key.map { _ in "?" }.joined(separator: ", ")
        var moved = MovedTable(name: name, rows: 0, digest: SHA256.hash([]))
        var last: StatementArguments?
        while true {
            let after = last == nil ? "" : "WHERE (\(order)) > (\(marks)) "
            var arguments = last ?? []
            arguments += [limit]
            let rows = try connection.rows(
                "SELECT \(list) FROM \(name) \(after)ORDER BY \(order) LIMIT ?", arguments)
            try body(rows)
            moved.rows += rows.count
            moved.digest = SHA256.hash(moved.digest.bytes + rows.flatMap { $0.values.flatMap(\.digestInput) })
            guard rows.count == limit, let end = rows.last else { return moved }
            last = StatementArguments(try key.map { column -> ColumnValue in try end[column] })
        }
    }

    /// - Parameter size: of a full page, which is one statement.
    func insert(_ rows: [Row], _ connection: any EngineConnection, at size: Int) throws {
        let marks = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        // As many as SQLite's and PostgreSQL's limits of parameters allow, and few texts to prepare.
        let count = max(1, min(size, 4_096 / columns.count))
        var rest = rows[...]
        while !rest.isEmpty {
            let taken = rest.count >= count ? count : 1
            let values = rest.prefix(taken).flatMap(\.values)
            try connection.run(
                "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES "
                    + Array(repeating: marks, count: taken).joined(separator: ", "), StatementArguments(values))
            rest = rest.dropFirst(taken)
        }
    }
}

extension ColumnValue: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) { self = column }
    var column: ColumnValue { self }

    /// No two different rows of a table have the same bytes.
    fileprivate var digestInput: [UInt8] {
        func framed(_ kind: UInt8, _ bytes: [UInt8]) -> [UInt8] {
            [kind] + Array("\(bytes.count):".utf8) + bytes
        }
        return switch self {
        case .null: [0]
        case .integer(let number): framed(1, Array(String(number).utf8))
        case .real(let number): framed(2, Array(String(number).utf8))
        case .text(let text): framed(3, Array(text.utf8))
        case .blob(let bytes): framed(4, bytes)
        }
    }
}

extension EngineConnection {
    /// In a transaction that waits while another database works.
    fileprivate func awaitOtherSide() throws {
        guard self is PostgresConnection else { return }
        try execute(sql: "SET LOCAL idle_in_transaction_session_timeout = 0")
    }
}
