import Coding

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

    /// From now on only this queue uses the connection.
    private static func queue(over queue: ConnectionQueue, _ faults: Faults) -> ConnectionQueue {
        ConnectionQueue(FailingConnection(queue.sync { $0 }, faults), label: "failing")
    }

    var location: String { real.location }

    func counting() throws -> ConnectionQueue { try real.counting() }

    func lookUp(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        let faults = faults
        try await real.lookUp { connection in try body(FailingConnection(connection, faults)) }
    }

    func loopConnection() throws -> (any EngineConnection)? {
        try real.loopConnection().map { FailingConnection($0, faults) }
    }

    func ensureTrust(at now: Timestamp) async throws(StoreError) { try await real.ensureTrust(at: now) }
    func watch(at now: Timestamp) { real.watch(at: now) }
    var clockDifference: Int64 { real.clockDifference }
    var obstacle: StoreError? { real.obstacle }
    func eraseRemains(isCertain: Bool) async throws(StoreError) { try await real.eraseRemains(isCertain: isCertain) }
    func settings() throws -> [String: String] { try writer.sync { _ in try real.settings() } }
    func close() { real.close() }
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
    func run(_ sql: String, _ arguments: [ColumnValue]) throws -> Int {
        try faults.pass(sql)
        return try real.run(sql, arguments)
    }

    func enqueue(_ sql: String, _ arguments: [ColumnValue]) throws {
        try faults.pass(sql)
        try real.enqueue(sql, arguments)
    }

    func firstRow(_ sql: String, _ arguments: [ColumnValue]) throws -> Row? {
        try faults.pass(sql)
        return try real.firstRow(sql, arguments)
    }

    func rows(_ sql: String, _ arguments: [ColumnValue]) throws -> [Row] {
        try faults.pass(sql)
        return try real.rows(sql, arguments)
    }

    func execute(sql: String) throws {
        try faults.pass(sql)
        try real.execute(sql: sql)
    }

    func begin(_ access: AccessMode) throws {
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

    func limited(by limit: ReadLimit, _ body: () throws -> Void) throws {
        try real.limited(by: limit, body)
    }

    func releaseMemory() throws { try real.releaseMemory() }
    func close() { real.close() }
}
