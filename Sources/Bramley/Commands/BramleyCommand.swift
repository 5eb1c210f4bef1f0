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
            ClientsCommand.self, ServicesCommand.self, AssertionCommand.self, KeysCommand.self, BackupCommand.self,
            RestoreCommand.self,
            MoveCommand.self,
            PagesCommand.self, AuditCommand.self, ExplainCommand.self, JWSCommand.self,
        ])

    package init() {}

    package static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(withError: misspelt(CommandLine.arguments.dropFirst()).map { ValidationError($0) } ?? error)
        }
    }

    /// What was meant by a word where a command is expected.
    private static func misspelt(_ words: some Sequence<String>) -> String? {
        var (path, below) = (_commandName, configuration.subcommands)
        for word in words {
            guard !below.isEmpty, !word.hasPrefix("-") else { return nil }
            if let next = below.first(where: { $0._commandName == word }) {
                (path, below) = ("\(path) \(word)", next.configuration.subcommands)
            } else {
                return ConfigurationTable.nearest(to: word, among: below.map { $0._commandName }).map {
                    "There is no command \(path) \(word). Did you mean \(path) \($0)?"
                }
            }
        }
        return nil
    }
}
