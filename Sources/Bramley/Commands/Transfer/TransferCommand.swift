import Accounts
import ArgumentParser
internal import Coding

/// `bramley transfer`
struct TransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer", abstract: "Move people to another Apple team.",
        discussion: """
            Run export with the old team's configuration and import with the new one's, on the same database. See \
            docs/transfer.md.
            """,
        subcommands: [TransferExportCommand.self, TransferImportCommand.self, TransferStatusCommand.self])

}

extension TeamID: ExpressibleByArgument {
    init?(argument: String) {
        let isTeamID =
            argument.utf8.count == 10
            && argument.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isTeamID else { return nil }
        self.init(argument)
    }
}

/// How Apple is asked.
struct TransferOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The client that asks. (default: apple.servicesID)", valueName: "client ID"))
    var clientID: String?

    @Option(help: ArgumentHelp("Requests per second, 1 to 100.", valueName: "count"))
    var rate = 10

    @Flag(help: "Retry people whom Apple refused before.")
    var again = false

    func validate() throws {
        guard (1...100).contains(rate) else { throw ValidationError("--rate is 1 to 100.") }
    }

    /// The client to use: one of the configuration's.
    func client(of configuration: DatabaseConfiguration) throws(CommandFailure) -> ClientID {
        guard let clientID else { return ClientID(configuration.clientIDs[0]) }
        guard configuration.clientIDs.contains(where: { $0.isExactly(clientID) }) else {
            throw .usage("--client-id is neither apple.servicesID nor one of apple.bundleIDs.")
        }
        return ClientID(clientID)
    }
}
