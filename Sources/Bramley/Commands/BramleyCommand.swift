package import ArgumentParser
internal import Sockets

@main
package struct BramleyCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "bramley", abstract: "A self-hosted Sign in with Apple server.",
        version: Build.description(of: "bramley"),
        subcommands: [
            ServeCommand.self, InitCommand.self, CheckCommand.self, DoctorCommand.self, UsersCommand.self,
            SessionsCommand.self, LinksCommand.self, CredentialsCommand.self, TransferCommand.self,
            NotificationsCommand.self, EventsCommand.self, WebhooksCommand.self, APIKeysCommand.self,
            ClientsCommand.self, AssertionCommand.self, BackupCommand.self, RestoreCommand.self, MoveCommand.self,
            PagesCommand.self, AuditCommand.self, ExplainCommand.self, JWSCommand.self,
        ])

    package init() {}
}
