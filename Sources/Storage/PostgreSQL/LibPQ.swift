import Glibc

/// The functions of libpq in use, looked up when the first PostgreSQL database is opened: a server on SQLite neither
/// links nor loads the library.
@safe struct LibPQ: Sendable {
    typealias Session = OpaquePointer
    typealias Answer = OpaquePointer
    typealias Text = UnsafePointer<CChar>

    // Safe: each has the signature that libpq-fe.h declares for its name (PostgreSQL 14, ABI libpq.so.5), and stays
    // valid, since the library is never closed.
    let connectStart: @Sendable @convention(c) (UnsafePointer<Text?>, UnsafePointer<Text?>, Int32) -> Session?
    private let parseConnectionString: @Sendable @convention(c) (Text, UnsafeMutablePointer<Text?>?) -> OpaquePointer?
    private let freeOptions: @Sendable @convention(c) (OpaquePointer) -> Void
    let connectPoll: @Sendable @convention(c) (Session) -> Int32
    let status: @Sendable @convention(c) (Session) -> Int32
    let transactionStatus: @Sendable @convention(c) (Session) -> Int32
    let socket: @Sendable @convention(c) (Session) -> Int32
    let backendPID: @Sendable @convention(c) (Session) -> Int32
    let serverVersion: @Sendable @convention(c) (Session) -> Int32
    let errorMessage: @Sendable @convention(c) (Session) -> Text?
    let finish: @Sendable @convention(c) (Session) -> Void
    let setNonBlocking: @Sendable @convention(c) (Session, Int32) -> Int32
    let setErrorVerbosity: @Sendable @convention(c) (Session, Int32) -> Int32
    let setNoticeProcessor:
        @Sendable @convention(c) (
            Session, (@convention(c) (UnsafeMutableRawPointer?, Text?) -> Void)?, UnsafeMutableRawPointer?
        ) -> UnsafeRawPointer?

    let sendQuery: @Sendable @convention(c) (Session, Text) -> Int32
    let sendPrepare: @Sendable @convention(c) (Session, Text, Text, Int32, UnsafePointer<UInt32>?) -> Int32
    let sendDescribePrepared: @Sendable @convention(c) (Session, Text) -> Int32
    let sendQueryPrepared:
        @Sendable @convention(c) (
            Session, Text, Int32, UnsafePointer<Text?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?, Int32
        ) -> Int32
    let sendQueryParams:
        @Sendable @convention(c) (
            Session, Text, Int32, UnsafePointer<UInt32>?, UnsafePointer<Text?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?, Int32
        ) -> Int32
    let enterPipelineMode: @Sendable @convention(c) (Session) -> Int32
    let exitPipelineMode: @Sendable @convention(c) (Session) -> Int32
    let pipelineSync: @Sendable @convention(c) (Session) -> Int32
    let flush: @Sendable @convention(c) (Session) -> Int32
    let consumeInput: @Sendable @convention(c) (Session) -> Int32
    let isBusy: @Sendable @convention(c) (Session) -> Int32
    let getResult: @Sendable @convention(c) (Session) -> Answer?

    let clear: @Sendable @convention(c) (Answer) -> Void
    let resultStatus: @Sendable @convention(c) (Answer) -> Int32
    let resultErrorField: @Sendable @convention(c) (Answer, Int32) -> Text?
    let commandStatus: @Sendable @convention(c) (Answer) -> Text?
    let commandTuples: @Sendable @convention(c) (Answer) -> Text?
    let rowCount: @Sendable @convention(c) (Answer) -> Int32
    let columnCount: @Sendable @convention(c) (Answer) -> Int32
    let columnName: @Sendable @convention(c) (Answer, Int32) -> Text?
    let columnType: @Sendable @convention(c) (Answer, Int32) -> UInt32
    let isNull: @Sendable @convention(c) (Answer, Int32, Int32) -> Int32
    let length: @Sendable @convention(c) (Answer, Int32, Int32) -> Int32
    let value: @Sendable @convention(c) (Answer, Int32, Int32) -> UnsafePointer<UInt8>?
    let parameterCount: @Sendable @convention(c) (Answer) -> Int32
    let parameterType: @Sendable @convention(c) (Answer, Int32) -> UInt32

    /// Loads the library, once per process; later calls find it loaded.
    /// - Throws: `StorageOpenError.noLibrary` when it is not installed, or older than PostgreSQL 14.
    init() throws(StorageOpenError) {
        guard let library = unsafe dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL) else { throw .noLibrary(Self.reason) }
        func symbol<Function>(_ name: String) throws(StorageOpenError) -> Function {
            // Safe: a pointer to a function has the size of a pointer; the types are those above.
            guard let found = unsafe dlsym(library, name) else { throw .noLibrary(Self.reason) }
            return unsafe unsafeBitCast(found, to: Function.self)
        }
        unsafe connectStart = try symbol("PQconnectStartParams")
        unsafe parseConnectionString = try symbol("PQconninfoParse")
        unsafe freeOptions = try symbol("PQconninfoFree")
        unsafe connectPoll = try symbol("PQconnectPoll")
        unsafe status = try symbol("PQstatus")
        unsafe transactionStatus = try symbol("PQtransactionStatus")
        unsafe socket = try symbol("PQsocket")
        unsafe backendPID = try symbol("PQbackendPID")
        unsafe serverVersion = try symbol("PQserverVersion")
        unsafe errorMessage = try symbol("PQerrorMessage")
        unsafe finish = try symbol("PQfinish")
        unsafe setNonBlocking = try symbol("PQsetnonblocking")
        unsafe setErrorVerbosity = try symbol("PQsetErrorVerbosity")
        unsafe setNoticeProcessor = try symbol("PQsetNoticeProcessor")
        unsafe sendQuery = try symbol("PQsendQuery")
        unsafe sendPrepare = try symbol("PQsendPrepare")
        unsafe sendDescribePrepared = try symbol("PQsendDescribePrepared")
        unsafe sendQueryPrepared = try symbol("PQsendQueryPrepared")
        unsafe sendQueryParams = try symbol("PQsendQueryParams")
        // Of PostgreSQL 14: an older library is refused here.
        unsafe enterPipelineMode = try symbol("PQenterPipelineMode")
        unsafe exitPipelineMode = try symbol("PQexitPipelineMode")
        unsafe pipelineSync = try symbol("PQpipelineSync")
        unsafe flush = try symbol("PQflush")
        unsafe consumeInput = try symbol("PQconsumeInput")
        unsafe isBusy = try symbol("PQisBusy")
        unsafe getResult = try symbol("PQgetResult")
        unsafe clear = try symbol("PQclear")
        unsafe resultStatus = try symbol("PQresultStatus")
        unsafe resultErrorField = try symbol("PQresultErrorField")
        unsafe commandStatus = try symbol("PQcmdStatus")
        unsafe commandTuples = try symbol("PQcmdTuples")
        unsafe rowCount = try symbol("PQntuples")
        unsafe columnCount = try symbol("PQnfields")
        unsafe columnName = try symbol("PQfname")
        unsafe columnType = try symbol("PQftype")
        unsafe isNull = try symbol("PQgetisnull")
        unsafe length = try symbol("PQgetlength")
        unsafe value = try symbol("PQgetvalue")
        unsafe parameterCount = try symbol("PQnparams")
        unsafe parameterType = try symbol("PQparamtype")
    }

    /// Whether `text` is a connection string. Its errors are not read: they quote it.
    func canParse(_ text: String) -> Bool {
        // Safe: the text is read during the call, and the options are freed here.
        guard let options = unsafe parseConnectionString(text, nil) else { return false }
        unsafe freeOptions(options)
        return true
    }

    private static var reason: String { unsafe dlerror().map { unsafe String(cString: $0) } ?? "" }
}
