import ChildProcesses

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
