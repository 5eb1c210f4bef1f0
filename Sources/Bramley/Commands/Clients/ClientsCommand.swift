internal import Accounts
import ArgumentParser
internal import Coding

struct ClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "Manage the applications that sign people in with OpenID Connect.",
        discussion: """
            Changes take effect at once. docs/apps/openid.md explains how to set up an application.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Update.self, RotateSecret.self, Delete.self, Apply.self,
        ])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all clients, ordered by id. Secrets are not shown.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        func run(on context: OperatorDatabase) async throws {
            let clients = try await context.database.openIDClients()
            try await page.show(
                [
                    .init("ID") { .code($0.id.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
                    .init("KIND", optional: true) { .text($0.isPublic ? "public" : "secret") },
                    .init("REDIRECT URIS", flexible: true, optional: true) {
                        .text($0.redirectURIs.joined(separator: " "))
                    },
                    .init("GROUPS", flexible: true, optional: true) { .texts($0.groups) },
                    .init("LAST USED", optional: true) { .time($0.lastUsedAt) },
                ], OpenIDClient.fields, .clients, empty: "No clients.", json: options.json
            ) { after, limit in Page(of: clients, after: after, limit: limit, by: \.id.rawValue) }
        }
    }

    struct Show: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Show a client.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            guard let client = try await context.database.openIDClient(id) else { throw ClientsCommand.unknown(id) }
            if options.json { return try CommandOutput.json { $0.write(client, OpenIDClient.fields) } }
            let fields = [Field<OpenIDClient>("id") { .code($0.id.rawValue) }] + OpenIDClient.fields.dropFirst()
            try CommandOutput.fields(of: client, fields, separator: " ")
        }
    }

    struct RotateSecret: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a new secret and print it once.",
            discussion:
                "The old secret stays valid for a while, so that you can change the application without an outage.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID

        @Option(help: ArgumentHelp("Days that the old secret stays valid, 0 to 90.", valueName: "days"))
        var keepOld = 7

        func validate() throws {
            guard (0...90).contains(keepOld) else { throw ValidationError("--keep-old must be 0 to 90 days.") }
        }

        func run(on context: OperatorDatabase) async throws {
            let now = context.now
            let seconds = Int64(keepOld) * 86_400
            let end = now.adding(seconds: seconds)
            let outcome = try await context.clients.rotateSecret(of: id, keepingOld: seconds, at: now)
            try ClientsCommand.show(try ClientsCommand.saved(outcome, id), options)
            CommandOutput.remark(
                keepOld == 0 ? "The old secret no longer works." : "The old secret stays valid until \(end.rfc3339).")
        }
    }

    struct Delete: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a client. Its tokens stop working at once.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            guard let client = try await context.database.openIDClient(id) else { throw ClientsCommand.unknown(id) }
            try await confirmation.confirm(
                "Nobody will be able to sign in to \(client.name) (\(id)), and its tokens will stop working.",
                id: id.rawValue)
            _ = try await context.clients.delete(id, at: context.now)
            try options.show("\(id) deleted", client, OpenIDClient.fields)
        }
    }

    static func unknown(_ id: OpenIDClientID) -> CommandFailure { CommandFailure("There is no client \(id).") }

    typealias Saved = (client: OpenIDClient, secret: OpenIDClientSecret?, before: OpenIDClient?)

    static func saved(_ outcome: ClientOutcome, _ id: OpenIDClientID) throws(CommandFailure) -> Saved {
        switch outcome {
        case .saved(let client, let secret, let before): return (client, secret, before)
        case .unknown: throw unknown(id)
        case .taken: throw CommandFailure("There already is a client \(id). Change it with bramley clients update.")
        case .withoutSecret: throw CommandFailure("\(id) is a public client and has no secret.")
        case .invalid(let problems): throw refusal(of: id, problems)
        }
    }

    static func refusal(of id: OpenIDClientID, _ problems: [ClientProblem]) -> CommandFailure {
        .usage("\(id): " + problems.map { LogEscaping.escaped($0.description) }.joined(separator: "; ") + ".")
    }

    static func show(_ saved: Saved, _ options: CommandOptions) throws {
        let (client, secret) = (saved.client, saved.secret)
        let text =
            secret.map { "client ID:     \(client.id)\nclient secret: \($0.reveal())" } ?? "client ID: \(client.id)"
        try options.show(text, client, OpenIDClient.fields(with: secret))
        if secret != nil {
            CommandOutput.remark("Save the secret now. It is not shown again, and only its hash is stored.")
        }
    }
}
