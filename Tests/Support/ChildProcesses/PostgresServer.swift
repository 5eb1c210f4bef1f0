import Foundation
import Glibc

/// A PostgreSQL for the tests of one process, stopped when it ends.
package final class PostgresServer: Sendable {
    /// Whether tests of databases run on it: TEST_STORE says so (`make test-postgres`).
    package static let isWanted = ProcessInfo.processInfo.environment["TEST_STORE"] == "postgres"

    /// The folder of its socket, and who may do everything.
    package let address: String
    private let program: SpawnedProgram

    /// - Throws: when PostgreSQL is not installed.
    package init() throws(SpawnFailure) {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../scripts/postgres.sh")
        program = try SpawnedProgram([script.path], input: .pipe, output: .pipe)
        var said: [UInt8] = []
        while let output = program.output, said.last != UInt8(ascii: "\n") {
            let next = output.next()
            guard !next.isEmpty else { throw SpawnFailure("PostgreSQL", ENOENT) }
            said += next
        }
        address = "host=\(String(decoding: said.dropLast(), as: UTF8.self)) user=postgres"
    }
}
