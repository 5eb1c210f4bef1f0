import ArgumentParser
internal import Coding

/// `bramley doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Test the running setup: key, clock, Apple, public address, proxy. Exit 0 or 1.",
        discussion: """
            Every finding has a next step; docs/doctor.md explains them. Run it on the server's machine while the \
            server runs. It changes nothing.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Only ask the running server whether it is alive: a container's health check. Exit 0 or 1.")
    var alive = false

    func run() async throws {
        try await CommandRun.reporting {
            if alive {
                guard try await Doctor.isAlive(options.input) else {
                    throw CommandFailure("The server does not answer on its admin listener.")
                }
                return
            }
            let diagnoses = try await ProgressLine.during("asking Apple and the server") {
                try await Doctor.examine(options.input)
            }
            if output.json { try printJSON(diagnoses) } else { try printText(diagnoses) }
            if diagnoses.contains(where: { $0.state == .wrong }) { throw ExitCode(1) }
        }
    }

    private func printJSON(_ diagnoses: [Diagnosis]) throws {
        try CommandOutput.json { writer in
            writer.beginObject()
            writer.member("isHealthy", !diagnoses.contains { $0.state == .wrong })
            writer.name("items")
            writer.beginArray()
            for diagnosis in diagnoses { diagnosis.write(to: &writer) }
            writer.endArray()
            writer.endObject()
        }
    }

    private func printText(_ diagnoses: [Diagnosis]) throws {
        func count(_ state: Diagnosis.State) -> String {
            "\(diagnoses.count { $0.state == state }) \(state.rawValue)"
        }
        let summary = [count(.wrong), count(.unsure), count(.good)].joined(separator: ", ")
        try CommandOutput.line((diagnoses.flatMap(\.lines) + ["", summary]).joined(separator: "\n"))
    }
}
