package import ArgumentParser

/// `bramley credentials`
package struct CredentialsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "What people allowed at Apple, and what is sealed of it here.",
        subcommands: [
            CredentialsStatusCommand.self,
            CredentialsResumeCommand.self,
            CredentialsRevocationsCommand.self,
            CredentialsResealCommand.self,
        ])

    package init() {}
}
