import ChildProcesses
import Coding
import Crypto
import Testing

@testable import Accounts
@testable import Storage

/// The engine that tests of the store run on: SQLite, or PostgreSQL when it is wanted.
enum TestEngine {
    static let isPostgres = PostgresServer.isWanted

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

    private let server: PostgresServer

    private init() throws { server = try PostgresServer() }

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
        PostgresOptions(url: Secret("\(server.address) dbname=postgres\(more)"))
    }
}
