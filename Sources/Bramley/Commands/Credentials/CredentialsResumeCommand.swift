internal import Accounts
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley credentials resume`
struct CredentialsResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume daily checks after a stop.",
        discussion: """
            Held-back answers are dropped and those credentials are checked again after a day: use this if Apple made a \
            mistake. With --accept they take effect now, and nothing is held back for 24 hours.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Flag(help: "The revocations are real: sign these people out. Asks for confirmation.")
    var accept = false

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if accept {
                let status = try await place.database.checkStatus(place.configuration.checkScope, at: place.now)
                guard status.gate.brake != nil else {
                    throw CommandFailure("No wave is stopped: there is nothing to accept.")
                }
                try confirmation.confirm(
                    """
                    \(status.heldBack) held-back \(status.heldBack == 1 ? "credential ends" : "credentials end") with \
                    all sessions, and for 24 hours no wave is stopped.
                    """)
            }
            let done = try await ProgressLine.during("resuming the checks") {
                try await place.database.resumeChecks(accepting: accept, at: place.now)
            }
            try output.show(
                Self.text(done, accepted: accept), ("wasStopped", .flag(done.gate.brake != nil)),
                ("wasRefused", .number(done.gate.pauses.count)), ("ended", .number(done.died)),
                ("sessionsEnded", .number(done.sessions)), ("forgotten", .number(done.forgotten)))
        }
    }

    private static func text(_ done: CheckResumption, accepted: Bool) -> String {
        let stood = done.gate.brake != nil || !done.gate.pauses.isEmpty
        var text = stood ? "the checks go on" : "nothing had stopped the checks"
        if accepted { text += "; \(done.died) held back ended, with \(done.sessions) sessions" }
        if done.forgotten > 0 { text += "; \(done.forgotten) held back will be asked about again" }
        return text
    }
}
