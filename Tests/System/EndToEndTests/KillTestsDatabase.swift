import Foundation
import Strangers
import Testing

/// Looks at a database file from outside of the server.
enum KillTestsDatabase {
    /// Copies the database with its log, as a killed process left them, and lets SQLite recover and check the copy: the
    /// server itself must then start from the untouched files.
    static func check(_ path: String, _ comment: String) throws {
        let files = FileManager.default
        let folder = try Folder()
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
}
