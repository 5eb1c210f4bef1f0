/// A program that was run to its end, and what it said.
package struct FinishedProgram: Sendable {
    package var ending: Ending
    package var output: [UInt8]
    package var errors: [UInt8]

    /// Whether it exited with 0.
    package var succeeded: Bool { ending == Ending(code: 0, wasSignalled: false) }
    package var outputText: String { String(decoding: output, as: UTF8.self) }
    package var errorText: String { String(decoding: errors, as: UTF8.self) }

    /// Runs a program and waits, blocking the thread: for programs that end by themselves and soon.
    /// - Parameters:
    ///   - command: the program and its arguments; without a slash it is looked up in `PATH`.
    ///   - input: its standard input.
    ///   - mergesErrors: standard error goes where standard output goes, and `errors` stays empty.
    package init(
        running command: [String], input: [UInt8] = [], mergesErrors: Bool = false
    ) throws(SpawnFailure) {
        // Files, not pipes: neither side can wait for the other.
        let (said, complained) = (try Descriptor(scratch: []), try Descriptor(scratch: []))
        let program = try SpawnedProgram(
            command, input: .descriptor(try Descriptor(scratch: input)), output: .descriptor(said),
            errors: mergesErrors ? .sameAsOutput : .descriptor(complained))
        ending = program.waitUntilEnded()
        output = try said.contents()
        errors = try complained.contents()
    }
}
