import ChildProcesses
import Foundation
import Strangers
import TemporaryFolders
import Testing

/// Servers that must not serve, and change nothing.
@Suite struct StartRefusalTests {
    /// A newer version beside the running one: refused before it touches the schema.
    @Test func aSecondServerDoesNotChangeTheSchemaOfTheFirst() async throws {
        let place = try ServerPlace()
        let other = try ServerPlace()
        try other.configure(apple: "http://127.0.0.1:9", dataDirectory: place.dataDirectory)
        try await withLoops { group in
            let server = try await place.start(on: group)
            let database = try Stranger.beside(place.databasePath)
            // To the second server its last step is missing.
            let last = try database.write { connection in
                let last = try connection.text("SELECT max(name) FROM migration")
                try connection.execute("DELETE FROM migration WHERE name = ?", [last])
                return last
            }
            func schema() async throws -> [String] {
                try database.read { connection in
                    try connection.texts(
                        "SELECT coalesce(sql, name) FROM sqlite_schema UNION ALL SELECT name FROM migration")
                }
            }
            let before = try await schema()
            #expect(last != nil && !before.contains { $0 == last })
            let second = try other.launch()
            #expect(await second.waitUntilEnded() == ChildProcess.Ending(code: 1, wasSignalled: false))
            #expect(second.output.contains("Another bramley serve is running"), "\(second.output)")
            #expect(try await schema() == before)
            await server.stop()
        }
    }

    /// Enough descriptors to prepare sixteen loops and too few to serve on them: each opens the database once more.
    @Test func aServerWhoseLoopsCannotServeExitsWithOne() async throws {
        let place = try ServerPlace()
        let process = try ChildProcess(
            ["/bin/bash", "-c", "ulimit -n 90 && exec \"$@\"", "bash"]
                + place.command("serve", "--server-threads", "16"),
            directory: place.folder.path, outputPath: place.logPath)
        #expect(await process.waitUntilEnded() == ChildProcess.Ending(code: 1, wasSignalled: false))
        #expect(process.output.contains("An event loop cannot serve"), "\(process.output)")
        #expect(!process.output.contains("listening"), "\(process.output)")
        // Nothing of it stays: the next one has the lock and the address.
        try await withLoops { group in
            let server = try await place.start(on: group)
            #expect(await server.stop() == ChildProcess.Ending(code: 0, wasSignalled: false))
        }
    }
}
