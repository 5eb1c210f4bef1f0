import Foundation
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

/// Regression: SQLite 3.40 loses a commit when it recovers the log, if pages of it had spilled into the log and a part of
/// it was taken back after that. The server's connection does not let them spill.
@Suite(.onSQLite) struct RecoveredCommitTests {
    /// The server's writing connection, but with so small a cache that a few rows are more than it holds.
    private static func writer(_ folder: TemporaryFolder) throws -> ConnectionQueue {
        let connections = Connections(path: folder.path + "/bramley.db", busyTimeout: 1000, use: .server)
        let writer = try connections.openWriter()
        try connections.makeDurable(writer)
        try connections.keepUncommittedInMemory(writer)
        try writer.sync { connection in
            try connection.run("PRAGMA cache_size = 4")
            try connection.run("CREATE TABLE kept (key INTEGER PRIMARY KEY, text TEXT NOT NULL)")
            try connection.run("CREATE INDEX by_text ON kept (text)")
        }
        return writer
    }

    /// What SQLite recovers from the two files alone, as after a crash at this moment.
    private static func recovered(_ folder: TemporaryFolder) throws -> [Int: String] {
        let copy = try TemporaryFolder()
        for name in ["/bramley.db", "/bramley.db-wal"] {
            try FileManager.default.copyItem(atPath: folder.path + name, toPath: copy.path + name)
        }
        return try Stranger(copy.path + "/bramley.db").read { connection in
            #expect(try connection.texts("PRAGMA integrity_check") == ["ok"])
            let rows = try connection.rows("SELECT key, text FROM kept")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0].integer ?? -1, $0[1].text ?? "") })
        }
    }

    /// Some rows changed, at random, and as often thirty at once, which are taken back.
    private static func change(_ connection: any EngineConnection, _ rows: inout [Int: String]) throws {
        for _ in 0..<Int.random(in: 1...40) {
            let key = Int.random(in: 0..<200)
            let text = String(repeating: "\(key)-", count: Int.random(in: 1...900))
            switch Int.random(in: 0..<8) {
            case 0:
                try connection.run("DELETE FROM kept WHERE key = ?", [key])
                rows[key] = nil
            case 1...3:
                try connection.run("SAVEPOINT part")
                for other in key..<(key + 30) {
                    try connection.run("REPLACE INTO kept VALUES (?, ?)", [other, text])
                }
                try connection.run("ROLLBACK TO part")
                try connection.run("RELEASE part")
            default:
                try connection.run("REPLACE INTO kept VALUES (?, ?)", [key, text])
                rows[key] = text
            }
        }
    }

    @Test("a returned commit is in the files, also after rolled-back writes", arguments: 0..<4)
    func commitsAreRecovered(database: Int) throws {
        let folder = try TemporaryFolder()
        let writer = try Self.writer(folder)
        var kept: [Int: String] = [:]
        for _ in 0..<15 {
            kept = try writer.sync { connection in
                var changed = kept
                try connection.run("BEGIN IMMEDIATE")
                try Self.change(connection, &changed)
                try connection.run("COMMIT")
                return changed
            }
            #expect(try Self.recovered(folder) == kept)
        }
    }
}
