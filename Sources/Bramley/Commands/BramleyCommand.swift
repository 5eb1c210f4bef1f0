package import ArgumentParser

/// `bramley`
@main
package struct BramleyCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "bramley",
        abstract: "A self-hosted Sign in with Apple server.",
        version: BramleyVersion.current,
        subcommands: [
            ServeCommand.self, InitCommand.self, CheckCommand.self, DoctorCommand.self, UsersCommand.self,
            SessionsCommand.self, LinksCommand.self, CredentialsCommand.self, TransferCommand.self,
            NotificationsCommand.self, EventsCommand.self, WebhooksCommand.self, APIKeysCommand.self,
            AssertionCommand.self, PagesCommand.self, AuditCommand.self,
            JWSCommand.self,
        ])

    package init() {}
}

/// The version, in one place.
package enum BramleyVersion {
    package static let current = "0.1.0"
}
