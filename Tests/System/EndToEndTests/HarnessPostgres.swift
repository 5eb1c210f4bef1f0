import ChildProcesses
import Coding
import Crypto
import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests of SQLite's own files, locks and words, and of days that only the site's clock passes: leases keep to
    /// PostgreSQL's.
    static var onSQLite: Self { .enabled(if: !SitePostgres.isWanted, "SQLite's own") }
}

/// One PostgreSQL for all sites of this process, when it is wanted.
final class SitePostgres: Sendable {
    static let isWanted = PostgresServer.isWanted
    static let shared = Result { try SitePostgres() }

    private let server: PostgresServer

    private init() throws { server = try PostgresServer() }

    /// The connection string of an empty database.
    func makeDatabase() throws -> String {
        let name = "site" + Hexadecimal.encode(SystemRandom().bytes(8))
        _ = try query(url("postgres"), "CREATE DATABASE \(name)")
        return url(name)
    }

    private func url(_ database: String) -> String { "\(server.address) dbname=\(database)" }

    /// One value, read without our own code.
    func query(_ url: String, _ sql: String) throws -> String {
        let place = url + " options='-c search_path=bramley,public'"
        let psql = try SpawnedProgram(["psql", "-X", "-d", place, "-qAtc", sql], output: .pipe)
        var answer: [UInt8] = []
        while let next = psql.output?.next(), !next.isEmpty { answer += next }
        guard psql.waitUntilEnded().code == 0 else { throw SiteError("psql: \(sql)") }
        return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
