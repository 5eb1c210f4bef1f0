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
                    .init("DOCUMENT", flexible: true, optional: true) { .text($0.document) },
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
            guard let client = try await context.database.openIDClient(id) else { throw OpenIDClient.unknown(id) }
            try OpenIDClient.show(
                client, options,
                [Field<OpenIDClient>("id") { .code($0.id.rawValue) }] + OpenIDClient.fields.dropFirst())
        }
    }

    struct RotateSecret: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a new secret and print it once.",
            discussion:
                "The old secret stays valid for a while, so that you can change the application without an outage.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID

        @OptionGroup var rotation: RotationOptions

        func run(on context: OperatorDatabase) async throws {
            let now = context.now
            let outcome = try await context.clients.rotateSecret(of: id, keepingOld: rotation.seconds, at: now)
            try OpenIDClient.show(try OpenIDClient.saved(outcome, id), options)
            rotation.remark(at: now)
        }
    }

    struct Delete: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a client. Its tokens stop working at once.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            guard let client = try await context.database.openIDClient(id) else { throw OpenIDClient.unknown(id) }
            try await confirmation.confirm(
                "Nobody will be able to sign in to \(client.name) (\(id)), and its tokens will stop working.",
                id: id.rawValue)
            _ = try await context.clients.delete(id, at: context.now)
            try options.show("\(id) deleted", client, OpenIDClient.fields)
        }
    }
}
