import Foundation
import Strangers
import TemporaryFolders
import Testing

/// Looks at a database file from outside of the server.
enum KillTestsDatabase {
    /// Copies the database with its log, as a killed process left them, and lets SQLite recover and check the copy: the
    /// server itself must then start from the untouched files.
    static func check(_ path: String, _ comment: String) throws {
        let files = FileManager.default
        let folder = try TemporaryFolder(mode: 0o755)
        for suffix in ["", "-wal"] where files.fileExists(atPath: path + suffix) {
            try files.copyItem(atPath: path + suffix, toPath: folder.path + "/copy.db" + suffix)
        }
        try open(folder.path + "/copy.db") { connection in
            let integrity = try connection.texts("PRAGMA integrity_check")
            #expect(integrity == ["ok"], "\(comment)")
            let orphans = try connection.rows("PRAGMA foreign_key_check")
            #expect(orphans.isEmpty, "\(comment)")
        }
    }

    /// Opens a database that no server has open, or beside one.
    static func open<Value>(_ path: String, _ body: (Stranger) throws -> Value) throws -> Value {
        try body(try Stranger.beside(path))
    }

    /// Whoever makes this change makes it for ever.
    static func hang(_ path: String, before change: String) throws {
        try open(path) { connection in
            try connection.execute(
                """
                CREATE VIEW forever AS
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;
                CREATE TRIGGER stuck BEFORE \(change)
                BEGIN SELECT count(*) FROM forever; END
                """)
        }
    }
}
