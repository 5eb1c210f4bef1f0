import Coding

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
        return PostgresError(state: field("C"), message: field("M") ?? "an answer of unknown kind")
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
        // Safe: these bytes belong to the answer, and are copied.
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(library.length(answer, row, column)))
        return try unsafe ColumnValue(postgres: bytes, type: type)
    }
}

/// Types by their number in pg_type, which never changes.
enum PostgresType {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let varchar: UInt32 = 1043
    static let numeric: UInt32 = 1700
}

/// A parameter as it is sent; nil is NULL.
struct PostgresParameter {
    var bytes: [UInt8]?
    var isBinary: Bool
}

extension PostgresParameter {
    /// - Parameter type: the one the server inferred for it.
    /// - Throws: for a text with U+0000, which PostgreSQL cannot store, and for a value of another type.
    init(_ value: ColumnValue, type: UInt32) throws(PostgresError) {
        switch (value, type) {
        case (.null, _): self.init(bytes: nil, isBinary: false)
        case (.integer(let number), PostgresType.int8): self.init(bytes: [UInt8](bigEndian: number), isBinary: true)
        case (.integer(let number), PostgresType.bool): self.init(bytes: [number == 0 ? 0 : 1], isBinary: true)
        // Smaller integers and texts too: the server reads digits, and refuses what does not fit.
        case (.integer(let number), _): self.init(bytes: Array(String(number).utf8), isBinary: false)
        case (.real(let number), _): self.init(bytes: Array("\(number)".utf8), isBinary: false)
        case (.text(let text), _) where type != PostgresType.bytea:
            let bytes = Array(text.utf8)
            guard !bytes.contains(0) else { throw PostgresError(state: "22021", message: "a text contains U+0000") }
            self.init(bytes: bytes, isBinary: false)
        case (.blob(let bytes), PostgresType.bytea): self.init(bytes: bytes, isBinary: true)
        case (.text, _), (.blob, _):
            throw PostgresError(state: "42804", message: "a parameter of type \(type) has a value of another")
        }
    }
}

extension ColumnValue {
    fileprivate init(postgres bytes: UnsafeBufferPointer<UInt8>, type: UInt32) throws(PostgresError) {
        switch type {
        case PostgresType.int8, PostgresType.int4, PostgresType.int2, PostgresType.bool:
            let sign: Int64 = unsafe bytes.first.map { $0 >= 0x80 ? -1 : 0 } ?? 0
            self = .integer(unsafe bytes.reduce(sign) { $0 << 8 | Int64($1) })
        case PostgresType.text, PostgresType.varchar, PostgresType.name:
            self = .text(unsafe String(decoding: bytes, as: UTF8.self))
        case PostgresType.bytea: self = .blob(unsafe Array(bytes))
        case PostgresType.float8: self = .real(Double(bitPattern: unsafe bytes.reduce(0) { $0 << 8 | UInt64($1) }))
        case PostgresType.numeric:
            guard let number = unsafe Self.integer(numeric: bytes) else {
                throw PostgresError(state: "22003", message: "a sum is not a 64-bit integer")
            }
            self = .integer(number)
        default: throw PostgresError(state: "42804", message: "a column has type \(type)")
        }
    }

    /// A `numeric`, the sum of 64-bit integers: digits in base 10,000, the first with the given weight.
    private static func integer(numeric bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        func number(_ index: Int) -> Int64 {
            Int64(Int16(bitPattern: unsafe UInt16(bytes[2 * index]) << 8 | UInt16(bytes[2 * index + 1])))
        }
        guard bytes.count >= 8, bytes.count == 8 + 2 * Int(number(0)) else { return nil }
        let (count, weight) = (Int(number(0)), Int(number(1)))
        // Without a fraction, not infinite, not NaN.
        guard count <= weight + 1 || count == 0, number(2) == 0 || number(2) == 0x4000 else { return nil }
        var value: Int64 = 0
        for index in 0..<(count == 0 ? 0 : weight + 1) {
            let (product, overflows) = value.multipliedReportingOverflow(by: 10_000)
            let (sum, overflowsToo) = product.addingReportingOverflow(index < count ? number(4 + index) : 0)
            guard !overflows, !overflowsToo else { return nil }
            value = sum
        }
        return number(2) == 0 ? value : -value
    }
}
