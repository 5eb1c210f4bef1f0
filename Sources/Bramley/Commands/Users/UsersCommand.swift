internal import Accounts
import ArgumentParser
internal import Web

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
    static let columns: [TextTable.Column] = [
        .init("ID"), .init("STATE"), .init("NAME", flexible: true), .init("EMAIL", flexible: true),
        .init("GROUPS", flexible: true, optional: true), .init("CREATED", optional: true),
        .init("EXTERNAL ID", flexible: true, optional: true),
    ]

    static func row(_ user: User, _ style: TextTable.Style) -> [String?] {
        [
            user.id.rawValue, user.state.rawValue, name(user), user.email?.address,
            user.groups.isEmpty ? nil : user.groups.joined(separator: ","), user.createdAt.shown(style),
            user.externalID,
        ]
    }

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
    static func report(_ user: User, json: Bool) throws {
        if json {
            try CommandOutput.json { UserDocument.write(user, to: &$0) }
        } else {
            try CommandOutput.line(
                [user.id.rawValue, user.state.rawValue, TerminalText.safe(user.groups.joined(separator: ","))]
                    .filter { !$0.isEmpty }.joined(separator: "\t"))
        }
    }
}
