package import ArgumentParser
package import RelyingParty
internal import Storage

/// `bramley users approve`
package struct UsersApproveCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "approve", abstract: "Let people in who wait for approval (access.signUp).")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Argument(help: "usr_…, one or several.")
    package var ids: [UserID]

    package init() {}

    package func run() async throws {
        try await UserStateChange(
            to: .active, from: [.pending, .active], otherwise: "is disabled: enable them instead"
        )
        .run(ids, options, json: output.json)
    }
}

/// `bramley users disable`
package struct UsersDisableCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Sign people out everywhere, and let them in no more.",
        discussion: "Asks first when it is more than one. Nothing of them is deleted: enable lets them in again.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Argument(help: "usr_…, one or several.")
    package var ids: [UserID]

    package init() {}

    package func run() async throws {
        try await UserStateChange(to: .disabled, from: User.State.allCases, otherwise: "")
            .run(ids, options, json: output.json) { () throws(CommandFailure) in
                if ids.count > 1 { try confirmation.confirm("\(ids.count) people will be signed out and kept out.") }
            }
    }
}

/// `bramley users enable`
package struct UsersEnableCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Let people in again who were disabled.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Argument(help: "usr_…, one or several.")
    package var ids: [UserID]

    package init() {}

    package func run() async throws {
        try await UserStateChange(
            to: .active, from: [.disabled, .active], otherwise: "waits for approval: approve them instead"
        ).run(ids, options, json: output.json)
    }
}

/// One new state for some people. Each is a change of its own; whoever cannot be changed is named, and the rest is done.
private struct UserStateChange {
    let target: User.State
    let sources: [User.State]
    /// Why somebody in another state is left alone.
    let otherwise: String

    init(to target: User.State, from sources: [User.State], otherwise: String) {
        self.target = target
        self.sources = sources
        self.otherwise = otherwise
    }

    func run(
        _ ids: [UserID], _ options: OperatorOptions, json: Bool,
        asking ask: () throws(CommandFailure) -> Void = {}
    ) async throws {
        try await OperatorDatabase.with(options) { place in
            try ask()
            var refused = 0
            for id in ids {
                if let reason = try await change(id, place, json: json) {
                    CommandOutput.remark("\(id) \(reason)")
                    refused += 1
                }
            }
            if refused > 0 { throw CommandFailure("\(refused) of \(ids.count) not changed.") }
        }
    }

    /// - Returns: why not; nil when it is done.
    private func change(_ id: UserID, _ place: OperatorDatabase, json: Bool) async throws -> String? {
        let (sources, target) = (sources, target)
        let result = try await place.database.patchUser(id, at: place.now) { user in
            sources.contains(user.state) ? UserPatch(state: target) : nil
        }
        guard case .patched(let patched) = result else { return "is unknown" }
        guard patched.state == target else { return otherwise }
        try UserRows.report(patched, json: json)
        return nil
    }
}
