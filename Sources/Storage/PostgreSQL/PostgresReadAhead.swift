/// One write of a batch, tried without a connection, to find out which rows it will read, and what it writes.
///
/// A read that is not known yet returns no row, and the write continues: so most of its reads are known after the first
/// try, and are then made for all writes of the batch in one round trip. The writes of a try count only when all its
/// reads are known.
///
/// That is correct only for a write that declares its keys (`claim`), because the writes of a batch read before any of
/// them has changed anything. Every other write, and one that reads from a table it has changed, runs alone.
///
/// The gain: one sign-in takes sixteen round trips, a whole batch of them two for new people and three for known ones
/// (`WriteBatchTests.readsAhead`). In a prototype with only these statements, three processes a millisecond away from
/// PostgreSQL completed 2,350 sign-ins a second, but 185 with reads one by one
/// (docs/decisions/0044-postgresql-by-dlopen.md; docs/contribute/performance.md has whole sign-ins).
///
/// Proof for `@unchecked Sendable`: one thread at a time uses the connection that made it.
final class PostgresReadAhead: EngineConnection, @unchecked Sendable {
    struct Statement: Hashable {
        let sql: String
        let values: [ColumnValue]
    }

    enum Outcome {
        case done(FinishedWrite)
        /// Some reads are not known yet: `wanted`.
        case unknown
        case alone
    }

    /// Thrown for an operation that needs a transaction of its own; counts only in a try whose reads are all known.
    private struct NeedsOwnTransaction: Error {}

    private var known: [Statement: [Row]] = [:]
    private(set) var wanted: [Statement] = []
    private(set) var claims: Set<String> = []
    private(set) var changes: [(sql: String, arguments: [ColumnValue])] = []
    private var changedTables: Set<Substring> = []
    private let texts: StatementTables

    init(_ texts: StatementTables) { self.texts = texts }

    func run(_ write: (any EngineConnection) throws -> FinishedWrite) throws -> Outcome {
        (wanted, claims, changes, changedTables) = ([], [], [], [])
        do {
            let finished = try write(self)
            return wanted.isEmpty ? .done(finished) : .unknown
        } catch {
            // It may have failed only because a read returned nothing.
            guard wanted.isEmpty else { return .unknown }
            guard error is NeedsOwnTransaction else { throw error }
            return .alone
        }
    }

    func learn(_ answers: [[Row]]) {
        for (statement, rows) in zip(wanted, answers) { known[statement] = rows }
    }

    // MARK: Operations of a write

    func claim(_ keys: [String]) { claims.formUnion(keys) }

    func rows(_ sql: String, _ arguments: [ColumnValue]) throws -> [Row] {
        let tables = texts.tables(of: sql)
        guard !claims.isEmpty, tables.isRead, changedTables.isDisjoint(with: tables.read) else {
            throw NeedsOwnTransaction()
        }
        let statement = Statement(sql: sql, values: arguments)
        if let rows = known[statement] { return rows }
        wanted.append(statement)
        return []
    }

    func firstRow(_ sql: String, _ arguments: [ColumnValue]) throws -> Row? { try rows(sql, arguments).first }

    func enqueue(_ sql: String, _ arguments: [ColumnValue]) throws {
        guard !claims.isEmpty, let table = texts.tables(of: sql).changed else { throw NeedsOwnTransaction() }
        changedTables.insert(table)
        changes.append((sql, arguments))
    }

    // MARK: Operations that need a transaction of their own

    func run(_ sql: String, _ arguments: [ColumnValue]) throws -> Int { throw NeedsOwnTransaction() }
    func execute(sql: String) throws { throw NeedsOwnTransaction() }
    var isInsideTransaction: Bool { true }
    func begin(_ access: AccessMode) throws { throw NeedsOwnTransaction() }
    func rollBack() {}
    func commit() throws { throw NeedsOwnTransaction() }
    func isOurs() throws -> Bool { throw NeedsOwnTransaction() }
    func markOurs() throws { throw NeedsOwnTransaction() }
    func tables() throws -> Set<String> { throw NeedsOwnTransaction() }
    func define(_ schema: String) throws { throw NeedsOwnTransaction() }
    func releaseMemory() throws { throw NeedsOwnTransaction() }
    func close() {}
}

/// The tables that each statement of a connection names, parsed once.
final class StatementTables {
    struct Tables {
        var isRead = false
        var read: Set<Substring> = []
        /// Nil also when deleting cascades to other tables.
        var changed: Substring?
    }

    private var known: [String: Tables] = [:]
    private let referenced: Set<Substring>

    /// - Parameter referenced: the tables whose deletions cascade.
    init(_ referenced: Set<Substring>) { self.referenced = referenced }

    func tables(of sql: String) -> Tables {
        if let known = known[sql] { return known }
        let tables = read(sql)
        known[sql] = tables
        return tables
    }

    private func read(_ sql: String) -> Tables {
        var reader = PostgresTextReader(sql)
        var (previous, verb): (Substring, Substring) = ("", "")
        var tables = Tables()
        while let token = reader.next() {
            guard !token.allSatisfy(\.isWhitespace) else { continue }
            if verb.isEmpty { verb = token }
            switch previous {
            case "INTO", "UPDATE": tables.changed = tables.changed ?? token
            case "FROM" where verb == "DELETE" && tables.changed == nil: tables.changed = token
            case "FROM", "JOIN": tables.read.insert(token)
            default: break
            }
            previous = token
        }
        tables.isRead = verb == "SELECT"
        if verb == "DELETE", let table = tables.changed, referenced.contains(table) { tables.changed = nil }
        return tables
    }
}

extension PostgresConnection {
    /// The most tries of a write: more are not worth a round trip for the whole batch.
    private static let tries = 5

    /// Runs the writes that declare their keys together, with the fewest round trips; then the others, one by one.
    func runAll(_ writes: [(any EngineConnection) throws -> FinishedWrite]) throws -> [FinishedWrite] {
        let ahead = consumeReadAhead(writes.count)
        var finished: [FinishedWrite?] = writes.map { _ in nil }
        var open = Array(writes.indices)
        for _ in 0..<Self.tries where !open.isEmpty {
            open = try open.filter { index in
                switch try ahead[index].run(writes[index]) {
                case .done(let write):
                    finished[index] = write
                    return false
                case .unknown: return true
                case .alone: return false
                }
            }
            try read(for: open.map { ahead[$0] })
        }
        var claimed: Set<String> = []
        for index in writes.indices where finished[index] != nil {
            if claimed.isDisjoint(with: ahead[index].claims) {
                for (sql, arguments) in ahead[index].changes { try enqueue(sql, arguments) }
            } else {
                // Its reads may be outdated.
                finished[index] = nil
            }
            claimed.formUnion(ahead[index].claims)
        }
        return try writes.indices.map { index in
            if let write = finished[index] { return write }
            let write = try writes[index](self)
            guard isInsideTransaction else { throw TransactionLost() }
            return write
        }
    }
}
