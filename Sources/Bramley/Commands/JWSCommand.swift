import ArgumentParser
internal import Crypto
internal import Sockets

struct JWSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jws", abstract: "Inspect signatures.", subcommands: [Verify.self])

    struct Verify: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify a compact JWS from standard input. Prints OK, or FAIL and the reason. Exit 0 or 1.")

        @Option(help: ArgumentHelp("A file with a JWK or a JWK set.", valueName: "file")) var jwk: String

        @Option(help: "The only algorithm to accept: \(JWSCheck.algorithms.joined(separator: ", ")).")
        var algorithm: String

        func perform() async throws {
            let key: GuardedFile
            do throws(InputFlaw) {
                key = try GuardedFile.read(jwk, maximumBytes: 1_048_576)
            } catch {
                try CommandOutput.line("FAIL: \(LogEscaping.escaped(jwk)) \(error.fault)")
                throw ExitCode(1)
            }
            let outcome = JWSCheck.run(
                keyFile: key.bytes, algorithm: algorithm, input: Self.standardInput(atMost: 1_048_576))
            do {
                try CommandOutput.line(LogEscaping.escaped(outcome.line))
            } catch is ExitCode where !outcome.isValid {
                // The output has no reader, but an invalid signature must never exit with success.
                throw ExitCode(1)
            }
            if !outcome.isValid { throw ExitCode(1) }
        }

        /// Standard input as bytes; longer than any token is cut, and then fails.
        private static func standardInput(atMost limit: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            guard let input = try? InputFile.standardInput() else { return bytes }
            while bytes.count < limit, let count = try? input.read(65_536, appendingTo: &bytes), count > 0 {}
            return bytes
        }
    }
}
