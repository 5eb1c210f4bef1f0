import Coding
import Crypto

/// A connection to the primary, reopened when it is lost.
///
/// Outside a transaction, a statement that finds the connection lost is repeated on a new one. Inside, the transaction
/// is lost, and its caller runs it again.
///
/// Proof for `@unchecked Sendable`: one thread at a time uses it; `ConnectionQueue` lends it on its serial queue.
final class PostgresConnection: EngineConnection, @unchecked Sendable {
    struct Patience: Sendable {
        var connect = 3_000
        /// For one statement. The server times out half a second earlier, so that its error arrives.
        var statement = 10_000
        /// For reopening a connection, from when it was lost, and for looking up a lost COMMIT.
        var recovery: Int64 = 10_000
        var pause: Int32 = 200

        /// A poll waits for no lock: a slow one is better repeated on a new connection.
        static let poll = Patience(statement: 3_000)

        /// Whether each statement is planned for its values: in a list, some match many rows and some none.
        var replans = false

        /// For a command: someone is waiting at the terminal, and no earlier connection was lost.
        static let command = Patience(recovery: 3_000)
        static let page = Patience(statement: 5_500, replans: true)
    }

    private let library: LibPQ
    private let url: Secret
    /// Names this process in `store_node`, where its writes leave their receipts; nil for a connection that never writes.
    private let node: String?
    /// Checked with every read; nil for a connection that writes or polls.
    private let proof: PostgresProof?
    private let patience: Patience
    private let random: any RandomSource
    private let losses: PostgresLosses

    private var session: PostgresSession?
    /// The schema of the open connection.
    private(set) var schema: PostgresOwnSchema?
    /// The limit of the call that uses the connection now.
    private var limit: ReadLimit? { didSet { session?.limit = limit } }
    /// The count of `losses` before the session was opened.
    private var lossesBefore = 0
    private var statements: [String: Prepared] = [:]
    /// Whether a transaction is open. When its connection is lost, later statements must not run outside it.
    private var isBegun = false
    /// The receipt of the open transaction, if it writes.
    private var receipt: String?
    let statementTables: StatementTables
    /// The rows read together with the BEGIN of the open transaction, for each of its writes.
    private var readAhead: [PostgresReadAhead] = []
    /// Statements of the open transaction to be sent with the next round trip.
    private var queued: [PostgresCall] = []
    private var isClosed = false
    /// When the connection was lost, until it is reopened.
    private var lostSince: ContinuousClock.Instant?

    private struct Prepared {
        var name: String
        var types: [UInt32]
    }

    init(
        _ library: LibPQ, url: Secret, node: String? = nil, proof: PostgresProof? = nil,
        patience: Patience = Patience(), referenced: Set<Substring> = [], random: any RandomSource,
        losses: PostgresLosses = PostgresLosses()
    ) {
        self.library = library
        self.url = url
        self.node = node
        self.proof = proof
        self.patience = patience
        self.random = random
        self.losses = losses
        statementTables = StatementTables(referenced)
    }

    func close() {
        isClosed = true
        drop()
    }

    private func drop() {
        session?.close()
        session = nil
        statements = [:]
    }

    // MARK: Connecting

    /// The open connection, or a new one. Retries for a while after a loss; then tries only once, so that in an outage
    /// callers get their error at once.
    private func opened() throws(PostgresError) -> PostgresSession {
        guard !isClosed else { throw .closed }
        if limit?.isOver == true { throw PostgresError(state: "57014", message: "the read took too long") }
        if let session {
            if session.isOpen, lossesBefore == losses.count { return session }
            if !session.isOpen { losses.add(since: lossesBefore) }
        }
        drop()
        let lost = lostSince ?? .now
        lostSince = lost
        while true {
            do throws(PostgresError) {
                let count = losses.count
                let opened = try connect()
                (session, lossesBefore, lostSince) = (opened, count, nil)
                opened.limit = limit
                return opened
            } catch {
                // Waiting does not help against a wrong password, database or certificate.
                let passes = error.state.map(PostgresError.isUnusable) ?? true
                guard passes, ContinuousClock.now - lost < .milliseconds(patience.recovery) else { throw error }
                PostgresSession.pause(milliseconds: patience.pause)
            }
        }
    }

    /// Settings of every connection: defaults that the operator's own replace, and fixed ones.
    private func connect() throws(PostgresError) -> PostgresSession {
        let session = try PostgresSession(
            library,
            settings: [
                ("target_session_attrs", "read-write"), ("application_name", "bramley"),
                ("connect_timeout", "\(max(1, patience.connect / 1_000))"), ("keepalives_idle", "5"),
                ("keepalives_interval", "2"), ("keepalives_count", "3"), ("dbname", url.reveal()),
                ("client_encoding", "UTF8"),
            ], patience: patience.connect)
        let schema = try PostgresOwnSchema(of: session, patience: patience.connect)
        let answer = try session.query(
            """
            SET search_path = \(schema.searchPath); SET statement_timeout = \(patience.statement - 500); SET lock_timeout = 5000;
            SET idle_in_transaction_session_timeout = 1000; SET standard_conforming_strings = on;
            SET default_transaction_isolation = 'read committed';
            SELECT CAST(pg_catalog.pg_backend_pid() AS pg_catalog.text)
            """, patience: patience.connect)
        self.schema = schema
        // A pooler reports a process number of its own. It may use another connection for each transaction, which has
        // neither these settings nor our prepared statements.
        guard try answer.rows().first?.values == [.text("\(session.backendPID)")] else { throw .pooled }
        let mode = patience.replans ? "force_custom_plan" : "auto"
        try session.query("\(Self.planning) SET plan_cache_mode = \(mode)", patience: patience.connect)
        return session
    }

    /// Every statement of ours finds few rows by an index, or counts on a separate connection. A server whose client
    /// has gone cancels its query, where its operating system can tell.
    private static let planning = """
        SET jit = off; SET max_parallel_workers_per_gather = 0; SET random_page_cost = 1.1;
        DO $$ BEGIN SET client_connection_check_interval = 1000; EXCEPTION WHEN OTHERS THEN NULL; END $$;
        """

    /// An interrupted statement closes this connection, which says nothing about the others.
    func limited(by limit: ReadLimit, _ body: () throws -> Void) throws {
        guard !limit.isNone else { return try body() }
        self.limit = limit
        defer { self.limit = nil }
        do {
            try body()
        } catch {
            if limit.isOver, session?.isOpen == false { drop() }
            throw error
        }
    }

    func requireServer(_ location: String) throws {
        guard try opened().serverVersion >= 140_000 else {
            throw StorageOpenError.unusable(location, detail: "PostgreSQL 14 or later is needed")
        }
        let encoding = try value("SELECT current_setting('server_encoding') AS value").text
        guard encoding == "UTF8" else {
            throw StorageOpenError.unusable(location, detail: "its encoding is \(encoding ?? "unknown"), not UTF8")
        }
    }

    // MARK: Statements

    @discardableResult
    func run(_ sql: String, _ arguments: [ColumnValue]) throws -> Int { try answer(sql, arguments).changes }

    func firstRow(_ sql: String, _ arguments: [ColumnValue]) throws -> Row? {
        try answer(sql, arguments).rows().first
    }

    func rows(_ sql: String, _ arguments: [ColumnValue]) throws -> [Row] { try answer(sql, arguments).rows() }

    func execute(sql: String) throws {
        try sendQueued()
        try opened().query(sql, patience: patience.statement)
    }

    func enqueue(_ sql: String, _ arguments: [ColumnValue]) throws {
        queued.append(try call(sql, arguments, openSession()))
        if queued.count >= Self.longestQueue { try sendQueued() }
    }

    private static let longestQueue = 1_024

    private func sendQueued() throws(PostgresError) {
        guard !queued.isEmpty else { return }
        _ = try ask(openSession(), [])
    }

    /// Reads the rows these writes need, in one round trip of the open transaction.
    func read(for writes: [PostgresReadAhead]) throws {
        let wanted = writes.flatMap(\.wanted)
        guard !wanted.isEmpty else { return }
        let session = try openSession()
        try learn(ask(session, calls(wanted, session)).map { answer in try answer.rows() }, for: writes)
    }

    private func calls(
        _ statements: [PostgresReadAhead.Statement], _ session: PostgresSession
    ) throws(PostgresError) -> [PostgresCall] {
        try statements.map { statement throws(PostgresError) in try call(statement.sql, statement.values, session) }
    }

    private func learn(_ answers: [[Row]], for writes: [PostgresReadAhead]) {
        var rest = answers[...]
        for write in writes {
            let count = write.wanted.count
            write.learn(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }

    private func answer(_ sql: String, _ arguments: [ColumnValue]) throws(PostgresError) -> PostgresAnswer {
        guard !isBegun else { return try ask(openSession(), sql, arguments) }
        // Only reads run outside a transaction: they may be repeated.
        return try reopening { session throws(PostgresError) in try ask(session, sql, arguments) }
    }

    /// Repeats `ask` on a new connection when the present one was lost while idle.
    private func reopening<Answer>(
        _ ask: (PostgresSession) throws(PostgresError) -> Answer
    ) throws(PostgresError) -> Answer {
        let asked = try opened()
        do throws(PostgresError) {
            return try ask(asked)
        } catch {
            guard !asked.isOpen, !isClosed else { throw error }
            return try ask(opened())
        }
    }

    private func openSession() throws(PostgresError) -> PostgresSession {
        guard let session, session.isOpen else { throw PostgresError(message: "the transaction was lost") }
        return session
    }

    private func ask(
        _ session: PostgresSession, _ sql: String, _ arguments: [ColumnValue]
    ) throws(PostgresError) -> PostgresAnswer {
        let call = try call(sql, arguments, session)
        if let proof, !isBegun { return try prove(proof, session, with: call) }
        guard queued.isEmpty else { return try ask(session, [call])[0] }
        return try session.execute(call, patience: patience.statement)
    }

    /// Runs the calls in one round trip, together with a check that the server has the last poll. A server that was
    /// replaced closes this connection, which says nothing about the others.
    private func prove(
        _ proof: PostgresProof, _ session: PostgresSession, with call: PostgresCall
    ) throws(PostgresError) -> PostgresAnswer {
        let known = proof.committed
        let asked = try self.call(PostgresProof.sql, [.text(proof.node)], session)
        // The check comes last: `call` must be the first statement of a transaction.
        let answers = try session.execute([call, asked], patience: patience.statement)
        guard case .integer(let number)? = try answers[1].rows().first?.values.first, number >= known else {
            drop()
            throw .replaced
        }
        return answers[0]
    }

    /// Sends the queued calls and then these, and returns the answers of these.
    private func ask(_ session: PostgresSession, _ calls: [PostgresCall]) throws(PostgresError) -> [PostgresAnswer] {
        let before = queued
        queued = []
        return Array(try session.execute(before + calls, patience: patience.statement).dropFirst(before.count))
    }

    private func call(
        _ sql: String, _ values: [ColumnValue], _ session: PostgresSession
    ) throws(PostgresError) -> PostgresCall {
        let prepared = try prepared(sql, session)
        guard prepared.types.count == values.count else {
            throw PostgresError(
                state: "08P01", message: "\(values.count) values for \(prepared.types.count) parameters")
        }
        return .prepared(
            prepared.name,
            try zip(values, prepared.types).map { value, type throws(PostgresError) in
                try PostgresParameter(value, type: type)
            })
    }

    private func prepared(_ sql: String, _ session: PostgresSession) throws(PostgresError) -> Prepared {
        if let known = statements[sql] { return known }
        let name = "s\(statements.count)"
        try session.prepare(name, PostgresDialect.statement(sql), patience: patience.statement)
        let prepared = Prepared(name: name, types: try session.describe(name, patience: patience.statement))
        statements[sql] = prepared
        return prepared
    }

    // MARK: Transactions

    var isInsideTransaction: Bool { session?.isInsideTransaction ?? false }

    /// A transaction that writes first locks the one row of `store_lock`: such transactions run one after another on
    /// all machines, so that what was read stays true and the journal is in the order of the commits.
    func begin(_ access: AccessMode) throws {
        rollBack()
        switch access {
        case .read: try begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        case .write: try beginWriting(reading: [])
        }
    }

    /// Together with the first reads of each write, in one round trip.
    func begin(for writes: [(any EngineConnection) throws -> FinishedWrite]) throws {
        rollBack()
        let ahead = writes.map { _ in PostgresReadAhead(statementTables) }
        let asking = zip(ahead, writes).compactMap { ahead, write in
            // A failure concerns only its write, and surfaces when that runs.
            if case .unknown? = try? ahead.run(write) { ahead } else { nil }
        }
        try beginWriting(reading: asking)
        readAhead = ahead
    }

    /// The rows read ahead for each of `count` writes when their transaction began.
    func consumeReadAhead(_ count: Int) -> [PostgresReadAhead] {
        defer { readAhead = [] }
        return readAhead.count == count ? readAhead : (0..<count).map { _ in PostgresReadAhead(statementTables) }
    }

    private func beginWriting(reading writes: [PostgresReadAhead]) throws {
        guard let node else { throw PostgresError(state: "25006", message: "this connection does not write") }
        let receipt = Hexadecimal.encode(random.bytes(16))
        let opening: [PostgresCall] = [
            .text("BEGIN"), .text("SELECT id FROM store_lock WHERE id = 1 FOR UPDATE"),
            .text(
                """
                INSERT INTO store_node (id, receipt) VALUES ('\(node)', '\(receipt)')
                ON CONFLICT (id) DO UPDATE SET receipt = excluded.receipt
                """),
        ]
        let wanted = writes.flatMap(\.wanted)
        do {
            let answers = try beginning { session throws(PostgresError) in
                try session.execute(opening + calls(wanted, session), patience: patience.statement)
            }
            try learn(answers.dropFirst(opening.count).map { answer in try answer.rows() }, for: writes)
        } catch {
            let isOfARead = (session?.failedCall ?? 0) >= opening.count
            rollBack()
            guard isOfARead else { throw error }
            // A write whose read was refused fails when it runs.
            return try beginWriting(reading: [])
        }
        self.receipt = receipt
    }

    /// Begins a transaction that writes without waiting for the lock.
    func beginWithoutLock() throws {
        rollBack()
        try begin("BEGIN")
    }

    private func begin(_ sql: String) throws(PostgresError) {
        _ = try beginning { session throws(PostgresError) in
            guard let proof else { return try session.query(sql, patience: patience.statement) }
            return try prove(proof, session, with: .text(sql))
        }
    }

    private func beginning<Answer>(
        _ begin: (PostgresSession) throws(PostgresError) -> Answer
    ) throws(PostgresError) -> Answer {
        let answer = try reopening(begin)
        isBegun = true
        return answer
    }

    func rollBack() {
        if isInsideTransaction { _ = try? session?.query("ROLLBACK", patience: patience.statement) }
        isBegun = false
        receipt = nil
        queued = []
        readAhead = []
    }

    /// A COMMIT whose answer was lost is looked up by its receipt.
    func commit() throws {
        let session = try openSession()
        defer { rollBack() }
        do {
            try end(session)
        } catch {
            guard let receipt, !session.isOpen, !isClosed else { throw error }
            let isCommitted: Bool
            do throws(PostgresError) {
                isCommitted = try self.isCommitted(receipt)
            } catch {
                throw PostgresError(state: PostgresError.unknown, message: error.message)
            }
            guard isCommitted else { throw error }
        }
    }

    private func end(_ session: PostgresSession) throws(PostgresError) {
        // COMMIT of a transaction that an error has spoiled rolls back, and reports no error.
        let answer = try ask(session, [.text("COMMIT")])[0]
        guard answer.command == "COMMIT" else { throw PostgresError(state: "25P02", message: "nothing was committed") }
    }

    /// A transaction that may still be committing holds the row's lock: this waits for its end.
    private func isCommitted(_ receipt: String) throws(PostgresError) -> Bool {
        let end = ContinuousClock.now + .milliseconds(patience.recovery)
        while true {
            do throws(PostgresError) {
                let answer = try opened().query(
                    """
                    INSERT INTO store_node (id, receipt) VALUES ('\(node ?? "")', '')
                    ON CONFLICT (id) DO UPDATE SET receipt = store_node.receipt RETURNING receipt
                    """, patience: patience.statement)
                return try answer.rows().first?.values == [.text(receipt)]
            } catch {
                guard error.storeError.mayPass, ContinuousClock.now < end else { throw error }
                PostgresSession.pause(milliseconds: patience.pause)
            }
        }
    }

    // MARK: The schema

    func isOurs() throws -> Bool { try allTables().isSuperset(of: PostgresDialect.foundationTables) }

    /// Nothing to do: the tables that transactions need mark it.
    func markOurs() {}

    func tables() throws -> Set<String> { try allTables().subtracting(PostgresDialect.foundationTables) }

    func allTables() throws -> Set<String> {
        let found = try rows(
            "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()")
        return Set(try found.map { try $0.text("name") })
    }

    func define(_ schema: String) throws { try execute(sql: PostgresDialect.schema(schema)) }

    /// Nothing to do: the server manages its own memory.
    func releaseMemory() {}
}

extension StoreError {
    fileprivate var mayPass: Bool {
        switch self {
        case .unavailable, .busy: true
        case .corrupt, .inconsistent: false
        }
    }
}
