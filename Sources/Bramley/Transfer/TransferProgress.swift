internal import Accounts
internal import AppleID
internal import Sockets

extension OperatorDatabase {
    /// Asks Apple about each person, in one direction of a transfer: with a loop of its own and a bar, until all are
    /// asked about or a signal comes.
    /// - Parameter total: people to ask about.
    func ask<Step: TransferStep>(
        _ input: ConfigurationInput, rate: Int, total: Int,
        _ step: @escaping @Sendable (AppleIdentityProvider) -> Step
    ) async throws -> (TransferEnd, Step) {
        // Apple's key and the outbound proxy need the whole configuration.
        let configuration = try ConfigurationLoader.load(input).configuration
        return try await EventLoopGroup.alone { group in
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
    /// - Throws: `CommandFailure` for every end but the good one. What was answered is kept in each.
    func check() throws(CommandFailure) {
        switch self {
        case .complete: return
        case .interrupted: throw CommandFailure("Interrupted. Run it again to continue: what was done is kept.")
        case .clientRefused(let text):
            throw CommandFailure(
                "Apple refuses us (\(text)). The team, the key and the client ID must be of one team, and the client must "
                    + "be allowed to use Sign in with Apple.")
        case .unavailable(let text):
            throw CommandFailure("Apple does not answer (\(text)). Run it again later to continue.")
        case .everyoneRefused(let text):
            throw CommandFailure(
                """
                Apple refused everybody it was asked about (\(text)) and has accepted nobody so far, which need not be about \
                them: is the other team right, has it accepted the app, and is that less than 60 days ago? Nothing was \
                written. Run it again when that is fixed; add --again for those who were refused in earlier runs. If all \
                of them have withdrawn their consent, there is nobody to move.
                """)
        }
    }
}
