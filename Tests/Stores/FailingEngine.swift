import Coding
import Crypto
import RelyingParty

@testable import Storage

/// A real engine whose statements fail when `faults` say so.
final class FailingEngine: Engine {
    private let real: any Engine
    private let faults: Faults
    let writer: ConnectionQueue
    let reader: ConnectionQueue

    init(_ real: any Engine, _ faults: Faults) {
        self.real = real
        self.faults = faults
        writer = Self.queue(over: real.writer, faults)
        reader = Self.queue(over: real.reader, faults)
    }

    /// From now on the connection is used by this queue alone.
    private static func queue(over queue: ConnectionQueue, _ faults: Faults) -> ConnectionQueue {
        ConnectionQueue(FailingConnection(queue.sync { $0 }, faults), label: "failing")
    }

    var place: String { real.place }

    func counting() throws -> ConnectionQueue { try real.counting() }

    func lookUp<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let faults = faults
        return try await real.lookUp { connection in try body(FailingConnection(connection, faults)) }
    }

    func sessionReader() throws -> any SessionReader { FailingReader(try real.sessionReader(), faults) }

    func signedIn(_ token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        try faults.pass(FailingReader.statement)
        return try await real.signedIn(token, at: now)
    }

    func watch(at now: Timestamp) { real.watch(at: now) }
    var clockDifference: Int64 { real.clockDifference }
    var obstacle: StoreError? { real.obstacle }
    func eraseRemains(isCertain: Bool) async throws(StoreError) { try await real.eraseRemains(isCertain: isCertain) }
    func settings() throws -> [String: String] { try writer.sync { _ in try real.settings() } }
    func close() { real.close() }
}

private final class FailingReader: SessionReader {
    static let statement = "SELECT FROM session"

    private let real: any SessionReader
    private let faults: Faults

    init(_ real: any SessionReader, _ faults: Faults) {
        self.real = real
        self.faults = faults
    }

    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
        try faults.pass(Self.statement)
        return try real.signedIn(token: token, at: now)
    }

    func takeFound() -> [(found: SignedIn, readAt: UInt64)] { real.takeFound() }
}

/// A real connection, asked only what does not fail.
final class FailingConnection: EngineConnection {
    let real: any EngineConnection
    private let faults: Faults

    init(_ real: any EngineConnection, _ faults: Faults) {
        self.real = real
        self.faults = faults
    }

    @discardableResult
    func run(_ sql: String, _ arguments: StatementArguments) throws -> Int {
        try faults.pass(sql)
        return try real.run(sql, arguments)
    }

    func enqueue(_ sql: String, _ arguments: StatementArguments) throws {
        try faults.pass(sql)
        try real.enqueue(sql, arguments)
    }

    func firstRow(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
        try faults.pass(sql)
        return try real.firstRow(sql, arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments) throws -> [Row] {
        try faults.pass(sql)
        return try real.rows(sql, arguments)
    }

    func execute(sql: String) throws {
        try faults.pass(sql)
        try real.execute(sql: sql)
    }

    func begin(_ access: Access) throws {
        try faults.pass(access == .write ? Faults.beginOfWrite : "BEGIN DEFERRED")
        try real.begin(access)
    }

    func commit() throws {
        try faults.pass("COMMIT")
        try real.commit()
    }

    var isInsideTransaction: Bool { real.isInsideTransaction }
    func rollBack() { real.rollBack() }
    func isOurs() throws -> Bool { try real.isOurs() }
    func markOurs() throws { try real.markOurs() }
    func tables() throws -> Set<String> { try real.tables() }
    func define(_ schema: String) throws { try real.define(schema) }

    func limited<Value>(by limit: ReadLimit, _ body: () throws -> Value) throws -> Value {
        try real.limited(by: limit, body)
    }

    func releaseMemory() throws { try real.releaseMemory() }
    func close() { real.close() }
}
