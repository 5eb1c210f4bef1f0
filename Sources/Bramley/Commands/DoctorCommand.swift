internal import Accounts
import ArgumentParser

struct DoctorCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Test the running setup: key, clock, Apple, public address, proxy. Exit 0 or 1.",
        discussion: """
            Run it on the server's machine while the server is running. It changes nothing. Every finding has a next \
            step; docs/reference/doctor.md explains all findings.
            """)

    @OptionGroup var options: CommandOptions

    @Flag(help: "Only check whether the running server is alive, as a container's health check does. Exit 0 or 1.")
    var alive = false

    func perform() async throws {
        if alive {
            guard try await Doctor.isAlive(options.input) else {
                throw CommandFailure("The server does not answer on its admin listener.")
            }
            return
        }
        let diagnoses = try await ProgressLine.during("checking Apple and the server") {
            try await Doctor.examine(options.input)
        }
        func count(_ state: Diagnosis.State) -> Int { diagnoses.count { $0.state == state } }
        let summary = [Diagnosis.State.wrong, .unsure, .good].map { "\(count($0)) \($0.rawValue)" }
        try options.show(
            (diagnoses.flatMap(\.lines) + ["", summary.joined(separator: ", ")]).joined(separator: "\n"),
            [("isHealthy", .flag(count(.wrong) == 0)), ("items", .objects(diagnoses.map(\.members)))])
        if count(.wrong) > 0 { throw ExitCode(1) }
    }
}
