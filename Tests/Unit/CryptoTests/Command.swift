import ChildProcesses
import Foundation

/// Runs another program: the tests hold our signatures against implementations that are not ours.
enum Command {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Returns: what the program printed.
    /// - Throws: when it is missing or exits with anything but 0.
    static func run(_ program: String, _ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        let finished = try FinishedProgram(running: [program] + arguments, input: input)
        guard finished.succeeded else {
            throw Failure(description: "\(program) exited with \(finished.ending.code): \(finished.errorText)")
        }
        return finished.output
    }
}

/// A directory that goes with its owner.
final class TemporaryDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
        let file = url.appending(path: name)
        try Data(bytes).write(to: file)
        return file
    }
}
