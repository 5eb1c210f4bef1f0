import ArgumentParser

/// `bramley credentials`
struct CredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "Manage Apple's authorizations and the tokens sealed here.",
        subcommands: [
            CredentialsStatusCommand.self,
            CredentialsResumeCommand.self,
            CredentialsRevocationsCommand.self,
            CredentialsResealCommand.self,
        ])

}
