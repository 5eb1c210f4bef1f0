import CSQLite

/// One prepared statement of one connection. Not Sendable: used wherever its connection is.
@safe final class SQLiteStatement {
    // Safe: prepared only by `init` and finalized only by `deinit`. `database` is open for as long: a connection drops
    // its statements before it closes.
    private let pointer: OpaquePointer
    private let database: OpaquePointer
    private let parameterCount: Int
    private let columnCount: Int32
    private let names: ColumnNames

    init(_ sql: String, on database: OpaquePointer) throws {
        var pointer: OpaquePointer?
        var isWhole = false
        // Safe: SQLite reads the text, which is kept for the call, and returns a pointer to where it stopped.
        let code = unsafe sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            let code = unsafe sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, &rest)
            isWhole = unsafe rest.map { unsafe $0.pointee == 0 } ?? true
            return code
        }
        guard code == SQLITE_OK, let pointer = unsafe pointer else {
            throw unsafe SQLiteError(code: code, of: database)
        }
        guard isWhole else {
            unsafe sqlite3_finalize(pointer)
            throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "more than one statement")
        }
        unsafe self.pointer = pointer
        unsafe self.database = database
        parameterCount = Int(unsafe sqlite3_bind_parameter_count(pointer))
        let columnCount = unsafe sqlite3_column_count(pointer)
        self.columnCount = columnCount
        // Safe: the name belongs to SQLite until the statement is finalized, and is copied here.
        names = ColumnNames(
            (0..<columnCount).map { unsafe sqlite3_column_name(pointer, $0).map { unsafe String(cString: $0) } ?? "" })
    }

    deinit { unsafe sqlite3_finalize(pointer) }

    /// Advances to the next row; false when there is none.
    func step() throws -> Bool {
        let code = unsafe sqlite3_step(pointer)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw unsafe SQLiteError(code: code, of: database)
        }
    }

    /// Ends what `step` began, so that the next starts again. The last step's error was already thrown.
    func reset() { unsafe sqlite3_reset(pointer) }

    // MARK: Parameters

    func bind(_ arguments: [ColumnValue]) throws {
        guard arguments.count == parameterCount else {
            throw SQLiteError(
                extendedCode: SQLITE_MISUSE,
                message: "\(arguments.count) values for a statement of \(parameterCount)")
        }
        var index: Int32 = 1
        for value in arguments {
            let code =
                switch value {
                case .null: unsafe sqlite3_bind_null(pointer, index)
                case .integer(let number): unsafe sqlite3_bind_int64(pointer, index, number)
                case .real(let number): unsafe sqlite3_bind_double(pointer, index, number)
                case .text(let text): bind(text, at: index)
                case .blob(let bytes): bind(bytes, at: index)
                }
            guard code == SQLITE_OK else { throw unsafe SQLiteError(code: code, of: database) }
            index += 1
        }
    }

    private func bind(_ value: String, at index: Int32) -> Int32 {
        var value = value
        // Safe: SQLite copies the `count` bytes during the call.
        return value.withUTF8 { text in
            guard !text.isEmpty else { return unsafe sqlite3_bind_text(pointer, index, "", 0, Self.copied) }
            return unsafe text.withMemoryRebound(to: CChar.self) { text in
                unsafe sqlite3_bind_text64(
                    pointer, index, text.baseAddress, UInt64(text.count), Self.copied, UInt8(SQLITE_UTF8))
            }
        }
    }

    private func bind(_ value: [UInt8], at index: Int32) -> Int32 {
        // Safe: as above. A null pointer would bind NULL.
        unsafe value.withUnsafeBytes { bytes in
            guard unsafe !bytes.isEmpty else { return unsafe sqlite3_bind_zeroblob(pointer, index, 0) }
            return unsafe sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
        }
    }

    /// SQLITE_TRANSIENT: a macro that Swift does not import.
    private static var copied: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    // MARK: Columns

    var row: Row {
        var values: [ColumnValue] = []
        values.reserveCapacity(Int(columnCount))
        for column in 0..<columnCount { values.append(value(column)) }
        return Row(values: values, names: names)
    }

    private func value(_ column: Int32) -> ColumnValue {
        switch unsafe sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(pointer, column))
        case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(pointer, column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
    }

    // Safe, both: the pointer is valid for that many bytes until the next step, and they are copied. SQLite requires
    // asking for the pointer before the count.
    private func text(_ column: Int32) -> String {
        let start = unsafe sqlite3_column_text(pointer, column)
        let count = Int(unsafe sqlite3_column_bytes(pointer, column))
        return unsafe String(
            decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
    }

    private func blob(_ column: Int32) -> [UInt8] {
        let start = unsafe sqlite3_column_blob(pointer, column)
        let count = Int(unsafe sqlite3_column_bytes(pointer, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}
