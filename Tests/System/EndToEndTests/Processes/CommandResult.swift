import ChildProcesses
import Coding
import Foundation
import Synchronization
import TemporaryFolders

/// How one command of `bramley` ended, and what it said.
struct CommandResult: Sendable {
    var code: Int32
    var output: String
    var errors: String
    /// Between its start and its end.
    var duration: Duration

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Standard output as one JSON object.
    var json: JSONObject {
        get throws {
            let value = try JSONReader.parse(Array(output.utf8), limits: JSONLimits(maximumBytes: 16_777_216))
            guard let object = value.objectValue else { throw ChildProcess.DidNotEnd(description: output) }
            return object
        }
    }

    /// `items` of a list.
    var items: [JSONObject] {
        get throws { (try json["items"]?.arrayValue ?? []).compactMap(\.objectValue) }
    }
}

extension JSONObject {
    var names: [String] { members.map(\.name) }
}

extension ServerPlace {
    private static let count = Mutex(0)

    /// Runs one command to its end.
    /// - Parameters:
    ///   - input: its standard input; nil for none.
    ///   - onTerminal: in a terminal of its own, 80 columns wide, with `input` typed into it.
    func run(
        _ arguments: [String], input: String? = nil, onTerminal: Bool = false, within limit: Duration = .seconds(120)
    ) async throws -> CommandResult {
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        let base = folder.path + "/command-\(number)"
        try Data((input ?? "").utf8).write(to: URL(filePath: base + ".in"))
        var command = [try Programs.path("bramley")] + arguments + ["--config", configurationPath]
        if onTerminal {
            let quoted = command.map { "'\($0)'" }.joined(separator: " ")
            command = ["script", "-qec", "stty cols 80; \(quoted)", "/dev/null"]
        }
        let process = try ChildProcess(
            ["/bin/sh", "-c", "base=$1; shift; exec \"$@\" <$base.in >$base.out 2>$base.err", "sh", base] + command,
            directory: folder.path, outputPath: base + ".sh")
        let ending = await process.waitUntilEnded(within: limit)
        let duration = ContinuousClock.now - process.startedAt
        func text(_ suffix: String) -> String {
            textOfFile(base + suffix)
        }
        return CommandResult(
            code: ending.wasSignalled ? -ending.code : ending.code, output: text(".out"), errors: text(".err"),
            duration: duration)
    }

    func run(_ line: String, input: String? = nil, onTerminal: Bool = false) async throws -> CommandResult {
        try await run(line.split(separator: " ").map(String.init), input: input, onTerminal: onTerminal)
    }
}
