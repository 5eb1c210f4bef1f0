internal import Accounts
import ArgumentParser

/// `bramley users`
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Manage users.",
        subcommands: [
            UsersListCommand.self, UsersShowCommand.self, UsersApproveCommand.self, UsersDisableCommand.self,
            UsersEnableCommand.self, UsersGroupsCommand.self, UsersExportCommand.self, UsersImportCommand.self,
            UsersDeleteCommand.self,
        ])

}

/// Users in tables and lines.
enum UserRows {
    static let columns: [CommandColumn<User>] = [
        .init("ID") { .code($0.id.rawValue) }, .init("STATE") { .text($0.state.rawValue) },
        .init("NAME", flexible: true) { .text(name($0)) }, .init("EMAIL", flexible: true) { .text($0.email?.address) },
        .init("GROUPS", flexible: true, optional: true) { .texts($0.groups) },
        .init("CREATED", optional: true) { .time($0.createdAt) },
        .init("EXTERNAL ID", flexible: true, optional: true) { .text($0.externalID) },
    ]

    /// Given name first, in the order Apple asks for; nil when there is neither.
    static func name(_ user: User) -> String? {
        let parts = [user.name.given, user.name.family].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// One person in a question: the id and, if known, the name and address.
    static func mention(_ user: User) -> String {
        let known = [name(user), user.email?.address].compactMap { $0 }
        return known.isEmpty ? user.id.rawValue : "\(user.id.rawValue) (\(known.joined(separator: ", ")))"
    }

    /// A user after a command: the document, or one line.
    static func report(_ user: User, _ output: OutputOptions) throws {
        let words = [user.id.rawValue, user.state.rawValue, TerminalText.safe(user.groups.joined(separator: ","))]
        try output.show(words.filter { !$0.isEmpty }.joined(separator: "\t"), user, User.fields)
    }
}
