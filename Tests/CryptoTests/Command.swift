import Foundation

/// Runs another program: the tests hold our signatures against implementations that are not ours.
enum Command {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Returns: what the program printed.
    /// - Throws: when it is missing or exits with anything but 0.
    static func run(_ program: String, _ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let directory = try TemporaryDirectory()
        // Files, not pipes: neither side can wait for the other.
        let inputFile = try directory.file("input", input)
        let outputFile = try directory.file("output", [])
        let errorFile = try directory.file("error", [])
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let error = String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
            throw Failure(description: "\(program) exited with \(process.terminationStatus): \(error)")
        }
        return [UInt8](try Data(contentsOf: outputFile))
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
