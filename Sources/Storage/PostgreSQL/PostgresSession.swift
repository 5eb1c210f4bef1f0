import Glibc

/// One open connection to PostgreSQL: sends, and waits with a deadline. Whatever fails closes it, except an error that
/// the server reports about a statement.
///
/// Proof for `@unchecked Sendable`: owned by one `PostgresConnection`, which one thread at a time uses.
@safe final class PostgresSession: @unchecked Sendable {
    private let library: LibPQ
    // Safe: open from `init` until `close`, and nil afterwards.
    private var session: LibPQ.Session?
    /// The limit of the call that waits for an answer now.
    var limit: ReadLimit?
    /// Milliseconds between two checks of the limit.
    private static let slice: Int64 = 250
    /// The statement of the last round trip that the server refused.
    private(set) var failedCall: Int?

    /// Connects, within `patience` milliseconds. `dbname` of libpq's settings may be a whole connection string.
    init(_ library: LibPQ, settings: [(String, String)], patience: Int) throws(PostgresError) {
        self.library = library
        // Safe: libpq copies the texts during the call; the arrays end with a null pointer.
        let session = unsafe withTexts(settings.map(\.0)) { keys in
            unsafe withTexts(settings.map(\.1)) { values in unsafe library.connectStart(keys, values, 1) }
        }
        guard let session = unsafe session else { throw PostgresError(message: "out of memory") }
        unsafe self.session = unsafe session
        // Notices are for people at a terminal; the default writes them there.
        _ = unsafe library.setNoticeProcessor(session, { _, _ in }, nil)
        // PQERRORS_VERBOSE: includes the SQLSTATE, which does not depend on the language.
        _ = unsafe library.setErrorVerbosity(session, 2)
        let end = ContinuousClock.now + .milliseconds(patience)
        do throws(PostgresError) {
            // "Before the first call, behave as if it had returned PGRES_POLLING_WRITING."
            var waitsFor = Int16(POLLOUT)
            // Safe: as above. 0 is CONNECTION_OK, 1 CONNECTION_BAD.
            while unsafe library.status(session) != 0 {
                guard unsafe library.status(session) != 1 else { throw PostgresError(connecting: errorText) }
                try wait(for: waitsFor, until: end)
                switch unsafe library.connectPoll(session) {
                case 1: waitsFor = Int16(POLLIN)
                case 2: waitsFor = Int16(POLLOUT)
                case 3: break
                default: throw PostgresError(connecting: errorText)
                }
            }
            // PQERRORS_DEFAULT.
            _ = unsafe library.setErrorVerbosity(session, 1)
            guard unsafe library.setNonBlocking(session, 1) == 0 else { throw failure() }
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    func close() {
        guard let open = unsafe session else { return }
        unsafe session = nil
        unsafe library.finish(open)
    }

    var isOpen: Bool { unsafe session != nil }

    /// The process that serves this connection, as the greeting named it; 0 when closed.
    var backendPID: Int32 { unsafe session.map { unsafe library.backendPID($0) } ?? 0 }

    /// 150003 for 15.3.
    var serverVersion: Int { unsafe session.map { Int(unsafe library.serverVersion($0)) } ?? 0 }

    /// Also in a transaction that a failed statement spoiled.
    var isInsideTransaction: Bool {
        // PQTRANS_INTRANS and PQTRANS_INERROR.
        unsafe session.map { [2, 3].contains(unsafe library.transactionStatus($0)) } ?? false
    }

    // MARK: Statements

    /// Runs statements without parameters, by the simple protocol, and returns the last answer.
    @discardableResult
    func query(_ sql: String, patience: Int) throws(PostgresError) -> PostgresAnswer {
        unsafe try exchange(patience) { unsafe library.sendQuery($0, sql) }
    }

    func prepare(_ name: String, _ sql: String, patience: Int) throws(PostgresError) {
        // Safe: without types, the server infers them.
        unsafe try exchange(patience) { unsafe library.sendPrepare($0, name, sql, 0, nil) }
    }

    func describe(_ name: String, patience: Int) throws(PostgresError) -> [UInt32] {
        unsafe try exchange(patience) { unsafe library.sendDescribePrepared($0, name) }.parameterTypes
    }

    func execute(_ call: PostgresCall, patience: Int) throws(PostgresError) -> PostgresAnswer {
        unsafe try exchange(patience) { unsafe send(call, $0) }
    }

    /// Runs statements in one round trip, in order, and returns the answer of each. Stops at the first failure.
    func execute(_ calls: [PostgresCall], patience: Int) throws(PostgresError) -> [PostgresAnswer] {
        unsafe try guarded(patience) { session, end throws(PostgresError) in
            guard unsafe library.enterPipelineMode(session) == 1 else { throw failure() }
            for call in calls {
                guard unsafe send(call, session) == 1 else { throw failure() }
            }
            guard unsafe library.pipelineSync(session) == 1 else { throw failure() }
            unsafe try flush(session, until: end)
            var answers: [PostgresAnswer] = []
            var first: PostgresError?
            failedCall = nil
            for index in calls.indices {
                while let answer = unsafe try next(session, until: end) {
                    if first == nil, let error = answer.error { (first, failedCall) = (error, index) }
                    answers.append(answer)
                }
            }
            // The end of the pipeline, even after an error. 1 is CONNECTION_BAD.
            let isWhole = unsafe try next(session, until: end) != nil
            if let first, first.state == nil { throw first }
            guard isWhole, answers.count == calls.count, unsafe library.status(session) != 1,
                unsafe library.exitPipelineMode(session) == 1
            else { throw failure() }
            if let first { throw first }
            return answers
        }
    }

    private func send(_ call: PostgresCall, _ session: LibPQ.Session) -> Int32 {
        // Safe, both: libpq copies texts and values into its buffer during the call. Results are binary.
        switch call {
        case .text(let sql): return unsafe library.sendQueryParams(session, sql, 0, nil, nil, nil, nil, 1)
        case .prepared(let name, let parameters):
            let bytes = parameters.map(\.bytes)
            let lengths = bytes.map { Int32($0?.count ?? 0) }
            let formats = parameters.map { $0.isBinary ? Int32(1) : 0 }
            return unsafe withValues(bytes) { values in
                unsafe library.sendQueryPrepared(session, name, Int32(bytes.count), values, lengths, formats, 1)
            }
        }
    }

    @discardableResult
    private func exchange(_ patience: Int, _ send: (LibPQ.Session) -> Int32) throws(PostgresError) -> PostgresAnswer {
        unsafe try guarded(patience) { session, end throws(PostgresError) in
            guard unsafe send(session) == 1 else { throw failure() }
            unsafe try flush(session, until: end)
            return unsafe try answer(session, until: end)
        }
    }

    /// Closes the connection when a failure makes it useless.
    private func guarded<Value>(
        _ patience: Int, _ body: (LibPQ.Session, ContinuousClock.Instant) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        guard let session = unsafe session else { throw .closed }
        do throws(PostgresError) {
            return unsafe try body(session, ContinuousClock.now + .milliseconds(patience))
        } catch {
            if error.state.map(PostgresError.isUnusable) ?? true { close() }
            throw error
        }
    }

    private func flush(_ session: LibPQ.Session, until end: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            switch unsafe library.flush(session) {
            case 0: return
            case 1:
                // The server may be waiting for us to read.
                try wait(for: Int16(POLLIN | POLLOUT), until: end)
                guard unsafe library.consumeInput(session) == 1 else { throw failure() }
            default: throw failure()
            }
        }
    }

    /// The last of the answers, or the first error among them.
    private func answer(_ session: LibPQ.Session, until end: ContinuousClock.Instant) throws(PostgresError)
        -> PostgresAnswer
    {
        var last: PostgresAnswer?
        var first: PostgresError?
        while let answer = unsafe try next(session, until: end) {
            if first == nil { first = answer.error }
            last = answer
        }
        if let first { throw first }
        // 1 is CONNECTION_BAD.
        guard let last, unsafe library.status(session) != 1 else { throw failure() }
        return last
    }

    private func next(_ session: LibPQ.Session, until end: ContinuousClock.Instant) throws(PostgresError)
        -> PostgresAnswer?
    {
        while unsafe library.isBusy(session) == 1 {
            try wait(for: Int16(POLLIN), until: end)
            guard unsafe library.consumeInput(session) == 1 else { throw failure() }
        }
        return unsafe library.getResult(session).map { unsafe PostgresAnswer($0, library) }
    }

    /// Blocks the calling thread.
    static func pause(milliseconds: Int32) {
        // Without entries, only the time passes.
        _ = poll(nil, 0, milliseconds)
    }

    private func wait(for events: Int16, until end: ContinuousClock.Instant) throws(PostgresError) {
        guard let session = unsafe session else { throw .closed }
        var ready = pollfd(fd: unsafe library.socket(session), events: events, revents: 0)
        while true {
            // Rounded up, so that the wait is not too short.
            let rest = Int64(((end - .now) / .milliseconds(1)).rounded(.up))
            guard rest > 0 else { throw PostgresError(message: "no answer in time") }
            // Safe: one entry, valid during the call.
            let count = unsafe poll(&ready, 1, Int32(clamping: limit == nil ? rest : min(rest, Self.slice)))
            if count > 0 { return }
            if let limit, limit.isOver { throw PostgresError(message: "the read took too long") }
            guard count == 0 || errno == EINTR else { throw PostgresError(message: "poll: errno \(errno)") }
        }
    }

    private func failure() -> PostgresError { PostgresError(message: errorText) }

    private var errorText: String {
        // Safe: the text belongs to the connection, and is copied here.
        let text = unsafe session.flatMap { unsafe library.errorMessage($0) }.map { unsafe String(cString: $0) }
        return text.flatMap { $0.isEmpty ? nil : $0 } ?? "the connection was lost"
    }
}

enum PostgresCall {
    case text(String)
    case prepared(String, [PostgresParameter])
}

/// Calls `body` with the texts as C strings, followed by a null pointer.
private func withTexts<Value>(_ texts: [String], _ body: (UnsafePointer<LibPQ.Text?>) -> Value) -> Value {
    unsafe withValues(texts.map { Array($0.utf8) }, body)
}

/// Calls `body` with a pointer to each value, followed by a zero byte; nil is a null pointer.
private func withValues<Value>(_ values: [[UInt8]?], _ body: (UnsafePointer<LibPQ.Text?>) -> Value) -> Value {
    var joined: [CChar] = []
    var starts: [Int?] = []
    for value in values {
        starts.append(value == nil ? nil : joined.count)
        if let value { joined += (value + [0]).map { CChar(bitPattern: $0) } }
    }
    // Safe: the pointers are into `joined`, which stays in place for the call.
    return unsafe joined.withUnsafeBufferPointer { bytes in
        var pointers: [LibPQ.Text?] = unsafe []
        for start in starts {
            if let start {
                unsafe pointers.append(bytes.baseAddress?.advanced(by: start))
            } else {
                unsafe pointers.append(nil)
            }
        }
        // An array without elements may have no address.
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
    }
}
