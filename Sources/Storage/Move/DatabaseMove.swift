package import Crypto

/// A table that was moved, the same on both sides.
package struct MovedTable: Hashable, Sendable {
    package var name: String
    package var rows: Int
    /// Of all rows, in key order.
    package var digest: Digest256
}

/// Copies a whole database to the other engine while nothing else writes to either, compares the two, and marks the
/// source as moved: Bramley no longer opens it.
///
/// The copy is one transaction of the target, which Bramley does not open until the source is marked. So the two are
/// never both in use, wherever the move is interrupted, and running `bramley move` again completes it.
package struct DatabaseMove {
    private static let page = 256

    private let source: Store
    private let target: Store
    /// The side whose schema is read: SQLite's describes itself.
    private var sqlite: Store { source.isShared ? target : source }

    /// - Parameter target: opened for a server, so that it has the schema.
    package init(from source: Store, to target: Store) {
        self.source = source
        self.target = target
    }

    /// Whether an earlier move to this target marked the source and was interrupted before it finished.
    package func isUnfinished() async throws(StoreError) -> Bool {
        let left = try await target.stored(Migrations.unfinishedMoveID)
        guard try await source.stored(Migrations.movedTo) != nil else { return false }
        let marked = try await source.stored(Migrations.moveID)
        return left != nil && left == marked
    }

    /// The database that the source was moved to; nil while it is in use.
    package func formerTarget() async throws(StoreError) -> String? {
        try await source.stored(Migrations.movedTo).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The last step: the target may now be used.
    package func finish() async throws(StoreError) {
        try await target.write { connection in
            try connection.forget(Migrations.unfinishedMoveID)
            return nil
        }
    }

    /// Whether the target is empty, or has only the copy of an interrupted move.
    package func isTargetEmpty() async throws(StoreError) -> Bool {
        if try await target.stored(Migrations.unfinishedMoveID) != nil { return true }
        for table in target.schema.content {
            let rows = try await target.value("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1) AS any_row")
            guard rows == .integer(0) else { return false }
        }
        return true
    }

    /// Whether other servers use it. On PostgreSQL their polls show it; SQLite's are kept away by a lock.
    package static func isInUse(_ database: Store) async throws(StoreError) -> Bool {
        guard let engine = database.engine as? PostgresEngine else { return false }
        let before = try await engine.lastOtherPoll()
        // Longer than two polls of an idle server.
        PostgresSession.pause(milliseconds: 5_500)
        return try await engine.lastOtherPoll() != before
    }

    /// Copies, and marks the source. Blocks the calling thread. `finish` must follow.
    /// - Parameter location: the target's, for the message to anyone who opens the source.
    package func run(to location: String, id: [UInt8]) throws(StoreError) -> [MovedTable] {
        do {
            let tables = try sqlite.engine.writer.sync { try MovingTable.all($0) }
            return try source.engine.writer.sync { from in
                try from.inTransaction {
                    try from.allowIdling()
                    let moved = try target.engine.writer.sync { into in
                        if !target.isShared { try into.execute(sql: "PRAGMA cache_spill = ON") }
                        return try into.inTransaction {
                            let moved = try copy(tables, from, into)
                            try into.store(Migrations.unfinishedMoveID, id)
                            return moved
                        }
                    }
                    try from.store(Migrations.movedTo, Array(location.utf8))
                    try from.store(Migrations.moveID, id)
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
        try into.allowIdling()
        // Rows that the schema's steps and the first start have written; referring rows first.
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

    // MARK: Counters of tables

    /// The last number assigned, even if its row was deleted since.
    private func sourceCounter(_ table: String, _ column: String, _ connection: any EngineConnection) throws -> Int64 {
        var given: Int64?
        if !source.isShared {
            given = try connection.value("SELECT seq FROM sqlite_sequence WHERE name = ?", [.text(table)]).integer
        } else if let sequence = try sequence(table, column, connection) {
            given = try connection.value(
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM \(sequence)"
            ).integer
        }
        return max(given ?? 0, try connection.value("SELECT max(\(column)) AS last FROM \(table)").integer ?? 0)
    }

    private func setCounter(
        _ table: String, _ column: String, _ last: Int64, _ connection: any EngineConnection
    ) throws {
        guard last > 0 else { return }
        if target.isShared {
            guard let sequence = try sequence(table, column, connection) else { return }
            _ = try connection.firstRow("SELECT setval(CAST('\(sequence)' AS regclass), ?) AS last", [.integer(last)])
        } else if try connection.run(
            "UPDATE sqlite_sequence SET seq = ? WHERE name = ?", [.integer(last), .text(table)]) == 0
        {
            try connection.run(
                """
                INSERT INTO sqlite_sequence (name, seq)
                SELECT name, ? FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'
                """, [.integer(last), .text(table)])
        }
    }

    /// The sequence of an identity column of PostgreSQL.
    private func sequence(_ table: String, _ column: String, _ connection: any EngineConnection) throws -> String? {
        try connection.value(
            "SELECT pg_get_serial_sequence(quote_ident(?), ?) AS name", [.text(table), .text(column)]
        ).text
    }
}

private struct MovingTable {
    let name: String
    let columns: [String]
    /// Of the primary key, in its order.
    let key: [String]
    /// The column that the engine numbers.
    let counted: String?

    /// Tables that others refer to come first: a step of the schema refers to tables of earlier steps.
    static func all(_ connection: any EngineConnection) throws -> [MovingTable] {
        let names = try connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid"
        ).map { try $0.text("name") }
        return try names.map { name in
            let rows = try connection.rows(
                "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", [.text(name)])
            let columns = try rows.map { row in
                (name: try row.text("name"), type: try row.text("type"), keyPosition: try row.integer("pk"))
            }
            let key = columns.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }
            guard !key.isEmpty else { throw StoreError.inconsistent("table \(name) has no primary key") }
            let counted = key.count == 1 && key[0].type == "INTEGER" ? key[0].name : nil
            return MovingTable(name: name, columns: columns.map(\.name), key: key.map(\.name), counted: counted)
        }
    }

    func eachPage(
        of connection: any EngineConnection, rows limit: Int, _ body: ([Row]) throws -> Void
    ) throws -> MovedTable {
        let (list, order) = (columns.joined(separator: ", "), key.joined(separator: ", "))
        let marks = key.map { _ in "?" }.joined(separator: ", ")
        var moved = MovedTable(name: name, rows: 0, digest: SHA256.hash([]))
        var last: [ColumnValue]?
        while true {
            let after = last == nil ? "" : "WHERE (\(order)) > (\(marks)) "
            let rows = try connection.rows(
                "SELECT \(list) FROM \(name) \(after)ORDER BY \(order) LIMIT ?", (last ?? []) + [.integer(Int64(limit))]
            )
            try body(rows)
            moved.rows += rows.count
            moved.digest = SHA256.hash(moved.digest.bytes + rows.flatMap { $0.values.flatMap(\.digestInput) })
            guard rows.count == limit, let end = rows.last else { return moved }
            last = try key.map { try end.value($0) }
        }
    }

    /// - Parameter size: rows of a full page, which is one statement.
    func insert(_ rows: [Row], _ connection: any EngineConnection, at size: Int) throws {
        let marks = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        // As many as the engines' limits on parameters allow, with few different statements to prepare.
        let count = max(1, min(size, 4_096 / columns.count))
        var rest = rows[...]
        while !rest.isEmpty {
            let taken = rest.count >= count ? count : 1
            let values = rest.prefix(taken).flatMap(\.values)
            try connection.run(
                "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES "
                    + Array(repeating: marks, count: taken).joined(separator: ", "), values)
            rest = rest.dropFirst(taken)
        }
    }
}

extension ColumnValue {
    /// No two different rows of a table have the same bytes.
    fileprivate var digestInput: [UInt8] {
        func framed(_ kind: UInt8, _ bytes: [UInt8]) -> [UInt8] { [kind] + Array("\(bytes.count):".utf8) + bytes }
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
    /// For a transaction that is idle while the other database works.
    fileprivate func allowIdling() throws {
        guard self is PostgresConnection else { return }
        try execute(sql: "SET LOCAL idle_in_transaction_session_timeout = 0")
    }
}
