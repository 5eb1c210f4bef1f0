import CSQLite
import Crypto
import Testing

@testable import Accounts
@testable import Storage

@Suite(.onSQLite) struct SQLiteStatementTests {
    private let connection: SQLiteConnection

    init() throws { connection = try SQLiteConnection(path: ":memory:", busyTimeout: 0) }

    private static let values: [(any ColumnBindable)?] = [
        nil, Int64.min, 42, true, "", "Zoë\u{0}\u{1F469}\u{200D}\u{1F680}", String(repeating: "x", count: 5_000),
        [UInt8](), [UInt8]([0, 255, 0]), Digest256(words: (1, 2, 3, .max)),
    ]
    private static let read: [ColumnValue] = [
        .null, .integer(.min), .integer(42), .integer(1), .text(""), .text("Zoë\u{0}\u{1F469}\u{200D}\u{1F680}"),
        .text(String(repeating: "x", count: 5_000)), .blob([]), .blob([0, 255, 0]),
        .blob(Digest256(words: (1, 2, 3, .max)).bytes),
    ]

    @Test("bound values are read back, empty texts and blobs included")
    func bindsAndReads() throws {
        let places = Self.values.map { _ in "?" }.joined(separator: ", ")
        for _ in 0..<2 {
            let row = try #require(try connection.firstRow("SELECT \(places)", StatementArguments(Self.values)))
            #expect(row.values == Self.read)
        }
        // Without a type there is no telling a text from a blob: SQLite says what it holds.
        let types = try #require(
            try connection.firstRow("SELECT typeof(?), typeof(?), typeof(?)", ["", [UInt8](), nil]))
        #expect(types.values == [.text("text"), .text("blob"), .text("null")])
    }

    @Test("allocations are not counted, which would be a lock around each")
    func countsNoMemory() throws {
        _ = try connection.firstRow("SELECT zeroblob(100000)")
        #expect(sqlite3_memory_used() == 0)
    }

    @Test("a column is read only by its name and type")
    func readsStrictly() throws {
        let row = try #require(
            try connection.firstRow("SELECT 1 AS i, 'one' AS t, x'01' AS b, NULL AS n, 1.5 AS r, 'x' AS \"a.t\""))
        let (text, number, isOne): (String, Int64, Bool) = (try row["t"], try row["i"], try row["i"])
        #expect(text == "one" && number == 1 && isOne)
        let (bytes, none, some): ([UInt8], String?, String?) = (try row["b"], try row["n"], try row["a.t"])
        #expect(bytes == [1] && none == nil && some == "x")
        #expect(throws: StoreError.corrupt("i holds no String")) { try row["i"] as String }
        #expect(throws: StoreError.corrupt("i holds no Optional<String>")) { try row["i"] as String? }
        #expect(throws: StoreError.corrupt("n holds no Int64")) { try row["n"] as Int64 }
        #expect(throws: StoreError.corrupt("r holds no Int")) { try row["r"] as Int }
        #expect(throws: StoreError.inconsistent("no column is named x")) { try row["x"] as Int }
        #expect(row.values[4] == .real(1.5))
    }

    @Test("a statement with another number of values is not run", arguments: [0, 1, 3])
    func countsArguments(count: Int) throws {
        try connection.execute(sql: "CREATE TABLE t (a, b)")
        let values = StatementArguments(Array(repeating: 1 as Int64, count: count))
        #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO t VALUES (?, ?)", values) }
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
    }

    @Test("a failure names SQLite's extended code, and the statement works again afterwards")
    func fails() throws {
        try connection.execute(sql: "CREATE TABLE t (a INTEGER PRIMARY KEY, b UNIQUE)")
        let insert = "INSERT INTO t (b) VALUES (?)"
        #expect(try connection.run(insert, ["x"]) == 1)
        let error = #expect(throws: SQLiteError.self) { try connection.run(insert, ["x"]) }
        #expect(error?.extendedCode == 2067 && error?.message == "UNIQUE constraint failed: t.b")
        try connection.run(insert, ["y"])
        #expect(try connection.rows("SELECT b FROM t ORDER BY a").map { String($0.values[0]) } == ["x", "y"])
    }

    @Test("similar statements are distinguished")
    func keysStatements() throws {
        // The same length and the same bytes wherever a key looks.
        for number in 0..<2_000 {
            let text = "SELECT \(10_000 + number) /* \(String(repeating: "-", count: 400)) */"
            #expect(try connection.integer(text) == Int64(10_000 + number))
        }
    }

    @Test("a transaction is rolled back when its body throws, and nothing is open afterwards")
    func rollsBack() throws {
        struct Refusal: Error {}
        try connection.execute(sql: "CREATE TABLE t (a)")
        #expect(throws: Refusal.self) {
            try connection.inTransaction {
                try connection.run("INSERT INTO t VALUES (1)")
                #expect(connection.isInsideTransaction)
                throw Refusal()
            }
        }
        #expect(!connection.isInsideTransaction)
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
    }

    @Test("a closed connection fails without effect")
    func failsWhenClosed() throws {
        connection.close()
        #expect(throws: SQLiteError.self) { try connection.run("SELECT 1") }
        #expect(throws: SQLiteError.self) { try connection.execute(sql: "SELECT 1") }
        #expect(!connection.isInsideTransaction)
    }
}

extension EngineConnection {
    /// The first column of the first row.
    func integer(_ sql: String) throws -> Int64? { try first(sql) }
}
