internal import Accounts
import ArgumentParser
internal import Storage

/// `bramley users approve`
struct UsersApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve", abstract: "Approve users who wait (access.signUp).")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: ArgumentHelp(UserReference.help + " Repeatable.", valueName: "person"))
    var people: [UserReference]

    func run() async throws {
        try await UserStateChange(
            to: .active, from: [.pending, .active], otherwise: "is disabled: enable them instead"
        )
        .run(people, options, output) { (found) throws(CommandFailure) in
            try confirmation.confirm(found, "will be let in")
        }
    }
}

/// `bramley users disable`
struct UsersDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Sign users out and block further sign-ins.",
        discussion: "Asks for confirmation for more than one. Deletes nothing; enable reverses it.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: ArgumentHelp(UserReference.help + " Repeatable.", valueName: "person"))
    var people: [UserReference]

    func run() async throws {
        try await UserStateChange(to: .disabled, from: User.State.allCases, otherwise: "")
            .run(people, options, output) { (found) throws(CommandFailure) in
                if people.count > 1 {
                    try confirmation.confirm("\(people.count) people will be signed out and kept out.")
                }
                try confirmation.confirm(found, "will be signed out and kept out")
            }
    }
}

/// `bramley users enable`
struct UsersEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Enable disabled users.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: ArgumentHelp(UserReference.help + " Repeatable.", valueName: "person"))
    var people: [UserReference]

    func run() async throws {
        try await UserStateChange(
            to: .active, from: [.disabled, .active], otherwise: "waits for approval: approve them instead"
        ).run(people, options, output) { (found) throws(CommandFailure) in
            try confirmation.confirm(found, "will be let in")
        }
    }
}

/// Sets the state of several people. Each is a separate change; those who cannot be changed are named, and the rest is
/// done.
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
        _ people: [UserReference], _ options: OperatorOptions, _ output: OutputOptions,
        asking ask: ([UserReference.Finding]) throws(CommandFailure) -> Void
    ) async throws {
        try await OperatorDatabase.with(options) { place in
            // Unknown ids are reported below, and the rest is done.
            let ids = people.compactMap { UserID(parsing: $0.text) }
            var known: [UserReference.Finding] = []
            for id in ids {
                if let user = try await place.database.user(id) { known.append(.init(user: user, isCertain: true)) }
            }
            let others = try await people.filter { UserID(parsing: $0.text) == nil }.find(in: place)
                .filter { other in !ids.contains(other.user.id) }
            try ask(known + others)
            try await change(ids + others.map(\.user.id), place, output)
        }
    }

    private func change(_ ids: [UserID], _ place: OperatorDatabase, _ output: OutputOptions) async throws {
        var refused = 0
        for id in ids {
            if let reason = try await change(id, place, output) {
                CommandOutput.remark("\(id) \(reason)")
                refused += 1
            }
        }
        if refused > 0 { throw CommandFailure("\(refused) of \(ids.count) not changed.") }
    }

    /// - Returns: why not; nil when it is done.
    private func change(_ id: UserID, _ place: OperatorDatabase, _ output: OutputOptions) async throws -> String? {
        let (sources, target) = (sources, target)
        let result = try await place.database.patchUser(id, at: place.now) { user in
            sources.contains(user.state) ? UserPatch(state: target) : nil
        }
        guard case .patched(let patched) = result else { return "is unknown" }
        guard patched.state == target else { return otherwise }
        try UserRows.report(patched, output)
        return nil
    }
}
