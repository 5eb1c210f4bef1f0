/// One answer of the server, freed with it.
@safe final class PostgresAnswer {
    // Safe: from PQgetResult, cleared only by `deinit`.
    private let answer: LibPQ.Answer
    private let library: LibPQ

    init(_ answer: LibPQ.Answer, _ library: LibPQ) {
        unsafe self.answer = unsafe answer
        self.library = library
    }

    deinit { unsafe library.clear(answer) }

    /// Nil for a good answer.
    var error: PostgresError? {
        // PGRES_COMMAND_OK and PGRES_TUPLES_OK.
        let status = unsafe library.resultStatus(answer)
        guard status != 1, status != 2 else { return nil }
        // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY; the detail, which has values, is not read.
        return PostgresError(state: field("C"), message: field("M") ?? "the answer has no known kind")
    }

    private func field(_ code: Unicode.Scalar) -> String? {
        // Safe: the text belongs to the answer, and is copied here.
        unsafe library.resultErrorField(answer, Int32(code.value)).map { unsafe String(cString: $0) }
    }

    /// `COMMIT`, or `ROLLBACK` for a COMMIT of a spoiled transaction.
    var command: String { unsafe library.commandStatus(answer).map { unsafe String(cString: $0) } ?? "" }

    /// Rows inserted, updated or deleted.
    var changes: Int { unsafe library.commandTuples(answer).flatMap { unsafe Int(String(cString: $0)) } ?? 0 }

    var parameterTypes: [UInt32] {
        (0..<(unsafe library.parameterCount(answer))).map { unsafe library.parameterType(answer, $0) }
    }

    /// All rows of a binary answer.
    func rows() throws(PostgresError) -> [Row] {
        let columns = unsafe library.columnCount(answer)
        let types = (0..<columns).map { unsafe library.columnType(answer, $0) }
        // Safe: the name belongs to the answer, and is copied here.
        let names = ColumnNames(
            (0..<columns).map { unsafe library.columnName(answer, $0).map { unsafe String(cString: $0) } ?? "" })
        var rows: [Row] = []
        for row in 0..<(unsafe library.rowCount(answer)) {
            var values: [ColumnValue] = []
            values.reserveCapacity(types.count)
            for column in 0..<columns { values.append(try value(row, column, types[Int(column)])) }
            rows.append(Row(values: values, names: names))
        }
        return rows
    }

    private func value(_ row: Int32, _ column: Int32, _ type: UInt32) throws(PostgresError) -> ColumnValue {
        guard unsafe library.isNull(answer, row, column) == 0, let start = unsafe library.value(answer, row, column)
        else { return .null }
        // Safe: so many bytes belong to the answer, and are copied.
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(library.length(answer, row, column)))
        return try unsafe PostgresValue.column(bytes, type: type)
    }
}
