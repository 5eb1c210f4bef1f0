internal import Accounts
internal import AppleID
internal import Sockets

extension OperatorDatabase {
    /// Asks Apple about each person, in one direction of a transfer, until all are asked about or a signal comes.
    func ask<Step: TransferStep>(
        _ input: ConfigurationInput, rate: Int, total: Int,
        _ step: @escaping @Sendable (AppleIdentityProvider) -> Step
    ) async throws -> (TransferEnd, Step) {
        // Apple's key and the outbound proxy need the whole configuration.
        let configuration = try ConfigurationLoader.load(input).configuration
        return try await EventLoopGroup.withOneLoop { group in
            let provider = try ServerBase(
                configuration: configuration, runtime: runtime, keyring: keyring, group: group, database: database
            ).provider()
            let step = step(provider)
            return (try await Interruption.cancelling { try await Self.run(step, rate: rate, total: total) }, step)
        }
    }

    private static func run(_ step: some TransferStep, rate: Int, total: Int) async throws -> TransferEnd {
        let run = TransferRun(step, pace: TransferPace(rate: rate)) { milliseconds in
            // Throws when the task is cancelled, and only then.
            try? await Task.sleep(for: .milliseconds(milliseconds))
            return !Task.isCancelled
        }
        var bar = ProgressLine(total: total, unit: "people")
        defer { bar.clear() }
        return try await run.run { asked in bar.update(count: asked, done: asked) }
    }
}

extension TransferEnd {
    /// - Throws: `CommandFailure` unless everyone was asked about. Apple's answers so far are kept in every case.
    func check() throws(CommandFailure) {
        switch self {
        case .complete: return
        case .interrupted: throw CommandFailure("Interrupted. Run it again to continue; completed work is kept.")
        case .clientRefused(let text):
            throw CommandFailure(
                "Apple rejected our client credentials (\(text)). The key and the client ID must belong to the configured "
                    + "team, and the client must have Sign in with Apple enabled.")
        case .unavailable(let text):
            throw CommandFailure("Apple did not answer (\(text)). Run it again later to continue.")
        case .everyoneRefused(let text):
            throw CommandFailure(
                """
                Apple has refused everybody so far (\(text)). The transfer itself may be the cause: check that the other \
                team is correct, that it has accepted the app, and that it did so less than 60 days ago. Nothing was \
                written. Run this again after fixing the cause; add --again for people refused in earlier runs. If all \
                of them have withdrawn their consent, there is nobody to move.
                """)
        }
    }
}
