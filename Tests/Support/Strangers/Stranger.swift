internal import CSQLite

/// Another program's connection to the store under test, whatever its engine.
package protocol StoreStranger: Sendable {
    /// What `body` reads, in one snapshot.
    func read<Value>(_ body: (Self) throws -> Value) throws -> Value

    /// What `body` writes, or nothing when it throws.
    func write<Value>(_ body: (Self) throws -> Value) throws -> Value

    /// Runs one statement with `arguments`, or any number without.
    func execute(_ sql: String, _ arguments: [Any?]) throws

    func rows(_ sql: String, _ arguments: [Any?]) throws -> [StrangerRow]
}

extension StoreStranger {
    package func execute(_ sql: String) throws { try execute(sql, []) }

    package func rows(_ sql: String) throws -> [StrangerRow] { try rows(sql, []) }

    package func row(_ sql: String, _ arguments: [Any?] = []) throws -> StrangerRow? { try rows(sql, arguments).first }

    /// The first column of the first row; nil when there is no row, or a value of another type in it.
    package func integer(_ sql: String, _ arguments: [Any?] = []) throws -> Int? { try row(sql, arguments)?[0].integer }

    /// The same, and an integer in digits.
    package func text(_ sql: String, _ arguments: [Any?] = []) throws -> String? {
        let value = try row(sql, arguments)?[0]
        return value?.text ?? value?.integer.map { String($0) }
    }

    /// The first column of every row in which it is not NULL.
    package func integers(_ sql: String, _ arguments: [Any?] = []) throws -> [Int] {
        try rows(sql, arguments).compactMap { $0[0].integer }
    }

    package func texts(_ sql: String, _ arguments: [Any?] = []) throws -> [String] {
        try rows(sql, arguments).compactMap { $0[0].text }
    }
}

/// Another program's connection to a database file. It shares no code with Storage, so that neither hides the other's
/// errors.
///
/// Proof for `@unchecked Sendable`: SQLite is told to lock the connection itself, and nothing else here changes. Whoever
/// uses one from several threads sees their statements run in some order.
@safe package final class Stranger: StoreStranger, @unchecked Sendable {
    // Safe: opened only by `init` and closed only by `deinit`.
    private let database: OpaquePointer

    /// - Parameter patience: how long a statement waits for another's lock, in milliseconds.
    package init(_ path: String, patience: Int32 = 0) throws {
        var database: OpaquePointer?
        let code = unsafe sqlite3_open_v2(
            path, &database,
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let database = unsafe database else { throw StrangerError(code: code, text: path) }
        unsafe self.database = database
        unsafe sqlite3_busy_timeout(database, patience)
        try execute("PRAGMA foreign_keys = ON")
    }

    deinit {
        unsafe sqlite3_close_v2(database)
    }

    package func read<Value>(_ body: (Stranger) throws -> Value) throws -> Value {
        try transaction("BEGIN DEFERRED", body)
    }

    package func write<Value>(_ body: (Stranger) throws -> Value) throws -> Value {
        try transaction("BEGIN IMMEDIATE", body)
    }

    private func transaction<Value>(_ begin: String, _ body: (Stranger) throws -> Value) throws -> Value {
        try execute(begin)
        do {
            let value = try body(self)
            try execute("COMMIT")
            return value
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    package func execute(_ sql: String, _ arguments: [Any?]) throws {
        guard arguments.isEmpty else {
            _ = try rows(sql, arguments)
            return
        }
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    package func rows(_ sql: String, _ arguments: [Any?]) throws -> [StrangerRow] {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v2(database, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { throw failure(code) }
        // Safe: used only here, and ended before this returns.
        defer { unsafe sqlite3_finalize(statement) }
        for (index, argument) in arguments.enumerated() {
            guard unsafe bind(argument, to: statement, at: Int32(index + 1)) == SQLITE_OK else {
                throw StrangerError(code: SQLITE_MISUSE, text: "\(argument as Any) for place \(index + 1) of \(sql)")
            }
        }
        let names = unsafe (0..<sqlite3_column_count(statement)).map {
            unsafe String(cString: sqlite3_column_name(statement, $0))
        }
        var rows: [StrangerRow] = []
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_DONE: return rows
            case SQLITE_ROW:
                let values = names.indices.map { unsafe value(statement, Int32($0)) }
                rows.append(StrangerRow(names: names, values: values))
            case let code: throw failure(code)
            }
        }
    }

    private func failure(_ code: Int32) -> StrangerError {
        StrangerError(code: code, text: unsafe String(cString: sqlite3_errmsg(database)))
    }

    private func bind(_ argument: Any?, to statement: OpaquePointer?, at index: Int32) -> Int32 {
        // SQLITE_TRANSIENT: SQLite copies what it is given.
        let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch argument {
        case nil: return unsafe sqlite3_bind_null(statement, index)
        case let value as Int: return unsafe sqlite3_bind_int64(statement, index, Int64(value))
        case let value as Int64: return unsafe sqlite3_bind_int64(statement, index, value)
        case let value as String:
            return unsafe sqlite3_bind_text(statement, index, value, Int32(value.utf8.count), copied)
        case let value as [UInt8]: return unsafe sqlite3_bind_blob(statement, index, value, Int32(value.count), copied)
        default: return SQLITE_MISUSE
        }
    }

    private func value(_ statement: OpaquePointer?, _ column: Int32) -> StrangerRow.Value {
        // Safe: asked for before the count, and copied before the next step.
        switch unsafe sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(Int(unsafe sqlite3_column_int64(statement, column)))
        case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            let start = unsafe sqlite3_column_text(statement, column)
            let count = Int(unsafe sqlite3_column_bytes(statement, column))
            return .text(unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let start = unsafe sqlite3_column_blob(statement, column)
            let count = Int(unsafe sqlite3_column_bytes(statement, column))
            return .blob(unsafe Array(UnsafeRawBufferPointer(start: start, count: count)))
        default: return .null
        }
    }
}

/// What another program read.
package struct StrangerRow: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case null
        case integer(Int)
        case real(Double)
        case text(String)
        case blob([UInt8])

        package var integer: Int? { if case .integer(let value) = self { value } else { nil } }
        package var text: String? { if case .text(let value) = self { value } else { nil } }
        package var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    }

    package let names: [String]
    package let values: [Value]

    package init(names: [String], values: [Value]) {
        self.names = names
        self.values = values
    }

    package subscript(column: Int) -> Value { values[column] }

    /// NULL when there is no such column.
    package subscript(name: String) -> Value { names.firstIndex(of: name).map { values[$0] } ?? .null }
}

package struct StrangerError: Error, Hashable {
    /// SQLite's extended result code.
    package let code: Int32
    package let text: String

    /// Another connection holds the lock.
    package var isBusy: Bool { code & 0xff == 5 }
}
