import Coding
import Crypto

/// A connection to the primary, made again when it was lost.
///
/// Outside a transaction, a statement that finds the connection gone is repeated on a new one. Inside, the transaction
/// is over, and its caller runs it again.
///
/// Proof for `@unchecked Sendable`: one thread at a time uses it; `ConnectionQueue` lends it on its serial queue.
final class PostgresConnection: EngineConnection, @unchecked Sendable {
    struct Patience: Sendable {
        var connect = 3_000
        /// For one statement. The server gives up half a second earlier, so that its answer arrives.
        var statement = 10_000
        /// For a connection to be made again, from when it was lost, and for a lost COMMIT to be looked up.
        var recovery: Int64 = 10_000
        var pause: Int32 = 200

        /// A poll waits for nobody's lock: one that takes longer is better tried on a new connection.
        static let poll = Patience(statement: 3_000)

        /// Whether each statement is planned for its own values: of a list, some find many and some nothing.
        var plansAnew = false

        /// Somebody looks at the terminal, and nothing was there before that could come back.
        static let command = Patience(recovery: 3_000)
        static let page = Patience(statement: 5_500, plansAnew: true)
    }

    private let library: LibPQ
    private let url: Secret
    /// Names this process in `store_node`, where its writes leave their receipts; nil for a connection that never writes.
    private let node: String?
    /// Asked for with every read; nil for a connection that writes or polls.
    private let proof: PostgresProof?
    private let patience: Patience
    private let random: any RandomSource
    private let losses: PostgresLosses

    private var session: PostgresSession?
    /// Of the open connection.
    private(set) var schema: PostgresOwnSchema?
    /// Of the call that uses the connection now.
    private var limit: ReadLimit? { didSet { session?.limit = limit } }
    /// Of `losses`, from before the session was opened.
    private var lossesBefore = 0
    private var statements: [String: Prepared] = [:]
    /// A transaction was begun and not ended. When its connection was lost, nothing more may run in its place.
    private var isBegun = false
    /// Of the open transaction, when it writes.
    private var receipt: String?
    let statementTables: StatementTables
    /// What was read with the begin of the open transaction, for each of its writes.
    private var readAhead: [PostgresReadAhead] = []
    /// Statements of the open transaction that wait for the next trip.
    private var queued: [PostgresCall] = []
    private var isClosed = false
    /// When a connection was lost that has not been made again.
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

    /// The open connection, or a new one. Tries for as long as the last one has not been gone for long; then once, so
    /// that in an outage nobody waits in vain for each answer.
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
                // A wrong password, database or certificate does not pass by itself.
                let passes = error.state.map(PostgresError.isUnusable) ?? true
                guard passes, ContinuousClock.now - lost < .milliseconds(patience.recovery) else { throw error }
                PostgresSession.pause(milliseconds: patience.pause)
            }
        }
    }

    /// What every connection is given unless the operator's own settings say otherwise, and what they cannot change.
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
        // A pooler greets with a number of its own. It may give each transaction another connection, which knows neither
        // these settings nor our prepared statements.
        guard try answer.rows().first?.values == [.text("\(session.backendPID)")] else { throw .pooled }
        let mode = patience.plansAnew ? "force_custom_plan" : "auto"
        try session.query("\(Self.planning) SET plan_cache_mode = \(mode)", patience: patience.connect)
        return session
    }

    /// Every statement of ours looks for few rows by an index, or counts on a connection of its own. A server whose
    /// client has gone ends what it does for it, where its system can tell.
    private static let planning = """
        SET jit = off; SET max_parallel_workers_per_gather = 0; SET random_page_cost = 1.1;
        DO $$ BEGIN SET client_connection_check_interval = 1000; EXCEPTION WHEN OTHERS THEN NULL; END $$;
        """

    /// A statement that is cut off costs this connection, and says nothing of the others.
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

    func requireServer(_ place: String) throws {
        guard try opened().serverVersion >= 140_000 else {
            throw StorageOpenError.unusable(place, detail: "PostgreSQL 14 or later is needed")
        }
        let encoding = try value("SELECT current_setting('server_encoding') AS value").text
        guard encoding == "UTF8" else {
            throw StorageOpenError.unusable(place, detail: "its encoding is \(encoding ?? "unknown"), not UTF8")
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
        queued.append(try call(sql, arguments, standing()))
        if queued.count >= Self.longestQueue { try sendQueued() }
    }

    private static let longestQueue = 1_024

    private func sendQueued() throws(PostgresError) {
        guard !queued.isEmpty else { return }
        _ = try ask(standing(), [])
    }

    /// Reads what these writes want to know, in one trip of the open transaction.
    func read(for writes: [PostgresReadAhead]) throws {
        let wanted = writes.flatMap(\.wanted)
        guard !wanted.isEmpty else { return }
        let session = try standing()
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
        guard !isBegun else { return try ask(standing(), sql, arguments) }
        // Only reads run outside a transaction: they may be asked twice.
        return try reopening { session throws(PostgresError) in try ask(session, sql, arguments) }
    }

    /// Asks again on a new connection when the present one had been lost while nobody used it.
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

    private func standing() throws(PostgresError) -> PostgresSession {
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

    /// Asks in one trip, of one server, and also whether it has the last poll. A server that another one has replaced
    /// costs this connection, and says nothing of the others.
    private func prove(
        _ proof: PostgresProof, _ session: PostgresSession, with call: PostgresCall
    ) throws(PostgresError) -> PostgresAnswer {
        let known = proof.committed
        let asked = try self.call(PostgresProof.sql, [.text(proof.node)], session)
        // Afterwards: as the first statement of a transaction, `call` begins it.
        let answers = try session.execute([call, asked], patience: patience.statement)
        guard case .integer(let number)? = try answers[1].rows().first?.values.first, number >= known else {
            drop()
            throw .replaced
        }
        return answers[0]
    }

    /// Sends what waits, and then these, and returns their answers.
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

    /// Whoever writes first takes the one row of `store_lock`: transactions that write are one after another on all
    /// machines, so that what was read stays true and the order of the journal is the order of the commits.
    func begin(_ access: AccessMode) throws {
        rollBack()
        switch access {
        case .read: try begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        case .write: try beginWriting(reading: [])
        }
    }

    /// With the reads that each write asks for at first, in one trip.
    func begin(for writes: [(any EngineConnection) throws -> FinishedWrite]) throws {
        rollBack()
        let ahead = writes.map { _ in PostgresReadAhead(statementTables) }
        let asking = zip(ahead, writes).compactMap { ahead, write in
            // A failure is the write's own, and shows when it runs.
            if case .unknown? = try? ahead.run(write) { ahead } else { nil }
        }
        try beginWriting(reading: asking)
        readAhead = ahead
    }

    /// What was read for each of so many writes when their transaction began.
    func takeReadAhead(_ count: Int) -> [PostgresReadAhead] {
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
            // The write whose read was refused learns of it when it runs.
            return try beginWriting(reading: [])
        }
        self.receipt = receipt
    }

    /// Begins a transaction that writes and waits for nobody.
    func beginAlone() throws {
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

    /// A COMMIT whose answer was lost is looked up: its receipt is in the database, or nothing of it is.
    func commit() throws {
        let session = try standing()
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

    /// A transaction that may still be committing holds the row: this waits for its end.
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

    /// The tables that transactions need are made before the first one.
    func markOurs() {}

    func tables() throws -> Set<String> { try allTables().subtracting(PostgresDialect.foundationTables) }

    func allTables() throws -> Set<String> {
        let found = try rows(
            "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()")
        return Set(try found.map { try $0.text("name") })
    }

    func define(_ schema: String) throws { try execute(sql: PostgresDialect.schema(schema)) }

    /// The server's memory is its own affair.
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
