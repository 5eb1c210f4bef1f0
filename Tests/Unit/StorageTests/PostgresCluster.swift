import ChildProcesses
import Coding
import Crypto
import Foundation
import Testing

@testable import Accounts
@testable import Storage

/// The engine that tests of the store run on: SQLite, or PostgreSQL when TEST_STORE says so (`make test-postgres`).
enum TestEngine {
    static let isPostgres = ProcessInfo.processInfo.environment["TEST_STORE"] == "postgres"

    /// For tests of SQLite's own file.
    static var isSQLite: Bool { !isPostgres }
}

extension Trait where Self == ConditionTrait {
    /// For tests of SQLite's file, locks and triggers, and for those that ask in words of SQLite.
    static var onSQLite: Self { .enabled(if: TestEngine.isSQLite, "SQLite's own") }
}

/// One PostgreSQL for all tests of this process, stopped when it ends. Each database in it is a schema.
final class PostgresCluster: Sendable {
    /// Nil with a line on standard error when PostgreSQL is not installed.
    static let shared = try? PostgresCluster()

    private let program: SpawnedProgram
    private let folder: String

    private init() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../scripts/postgres.sh"
        )
        .path
        program = try SpawnedProgram([script], input: .pipe, output: .pipe)
        var said: [UInt8] = []
        while let output = program.output, said.last != UInt8(ascii: "\n") {
            let next = output.next()
            if next.isEmpty { throw ClusterFailure() }
            said += next
        }
        folder = String(decoding: said.dropLast(), as: UTF8.self)
    }

    private struct ClusterFailure: Error {}

    /// A database of its own.
    func makeSchema() throws -> PostgresOptions {
        let name = "t" + Hexadecimal.encode(SystemRandom().bytes(8))
        let connection = try connect(to: options(""))
        defer { connection.close() }
        try connection.execute(sql: "CREATE SCHEMA \(name)")
        return options(" options='-c search_path=\(name)'")
    }

    func connect(to options: PostgresOptions) throws -> PostgresConnection {
        PostgresConnection(try LibPQ(), url: options.url, random: SystemRandom())
    }

    private func options(_ more: String) -> PostgresOptions {
        PostgresOptions(url: Secret("host=\(folder) user=postgres dbname=postgres\(more)"))
    }
}
