import Coding
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

/// A read ends in time, and with the client who waits for it.
@Suite struct ReadLimitTests {
    /// A statement that takes very long.
    private static let slow =
        TestEngine.isPostgres
        ? "SELECT CAST(1 AS BIGINT) AS n FROM pg_sleep(60)"
        : "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"

    private func connection(_ bench: Bench) throws -> any EngineConnection {
        guard let postgres = bench.postgres else {
            return try SQLiteConnection(path: bench.folder.path + "/bramley.db", busyTimeout: 0)
        }
        return try #require(PostgresCluster.shared).connect(to: postgres)
    }

    @Test("a read that takes too long ends, and so does one that waited behind it")
    func patience() async throws {
        let bench = try Bench()
        try bench.open().close()
        let queue = ConnectionQueue(try connection(bench), label: "test", patience: .milliseconds(300))
        defer { queue.close() }
        let start = ContinuousClock.now
        async let first = Self.failure { try await queue.read { _ = try $0.value(Self.slow) } }
        async let second = Self.failure { try await queue.read { _ = try $0.value(Self.slow) } }
        for error in await [first, second] {
            guard case .unavailable? = error else {
                Issue.record("ended with \(error.map { "\($0)" } ?? "an answer")")
                continue
            }
        }
        #expect(ContinuousClock.now - start < .seconds(40))
        // The connection continues.
        try await queue.read { connection in
            let seven = try connection.value("SELECT 7")
            #expect(seven == .integer(7))
        }
    }

    @Test("a read ends soon after its client has left")
    func departure() async throws {
        let bench = try Bench()
        try bench.open().close()
        let queue = ConnectionQueue(try connection(bench), label: "test")
        defer { queue.close() }
        let client = AwaitedClient()
        let start = ContinuousClock.now
        async let failure = AwaitedClient.$current.withValue(client) {
            await Self.failure { try await queue.read { _ = try $0.value(Self.slow) } }
        }
        try await Task.sleep(for: .milliseconds(100))
        client.leave()
        guard case .unavailable? = await failure else { throw Unexpected("it did not fail") }
        #expect(ContinuousClock.now - start < .seconds(40))
        try await queue.read { connection in
            let seven = try connection.value("SELECT 7")
            #expect(seven == .integer(7))
        }
    }

    private static func failure(_ body: () async throws -> Void) async -> StoreError? {
        do {
            try await body()
            return nil
        } catch {
            return StoreError(error)
        }
    }
}
