internal import Accounts
package import ArgumentParser
internal import Coding
internal import Crypto
internal import Storage
internal import Web

/// `bramley clients`
package struct ClientsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "Manage the programs that sign people in by OpenID Connect.",
        discussion: """
            Changes take effect at once. docs/openid.md explains how to set up a program.
            """,
        subcommands: [
            ClientsAddCommand.self, ClientsListCommand.self, ClientsShowCommand.self, ClientsUpdateCommand.self,
            ClientsRotateSecretCommand.self, ClientsDeleteCommand.self, ClientsApplyCommand.self,
        ])

    package init() {}
}

/// `bramley clients list`
struct ClientsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all clients by their id. Secrets are not shown.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let clients = try await place.database.openIDClients()
            let style = CommandOutput.tableStyle
            let list = CommandList<OpenIDClient>(
                [
                    .init("ID"), .init("NAME", flexible: true), .init("KIND"), .init("REDIRECT URIS", flexible: true),
                    .init("GROUPS", flexible: true), .init("LAST USED"),
                ],
                empty: "No clients.",
                row: { client in
                    [
                        client.id.rawValue, client.name, client.isPublic ? "public" : "secret",
                        client.redirectURIs.joined(separator: " "),
                        client.groups.isEmpty ? nil : client.groups.joined(separator: ","),
                        client.lastUsedAt?.shown(style),
                    ]
                }, document: { OpenIDClientDocument.write($0, to: &$1) })
            try await list.show(page, json: output.json) { after, limit in
                let start =
                    after.flatMap { place in clients.firstIndex { $0.id.rawValue == place.id } }.map { $0 + 1 } ?? 0
                let items = Array(clients[start...].prefix(limit))
                let last = start + items.count < clients.count ? items.last : nil
                return (items, last.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) })
            }
        }
    }
}

/// `bramley clients show`
struct ClientsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a client.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The client's id.") var id: ClientIDArgument

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            guard let client = try await place.database.openIDClient(id.id) else { throw ClientChange.unknown(id.id) }
            if output.json {
                try CommandOutput.json { OpenIDClientDocument.write(client, to: &$0) }
                return
            }
            let style = CommandOutput.tableStyle
            func list(_ texts: [String]) -> String? { texts.isEmpty ? nil : texts.joined(separator: " ") }
            let rows: [(String, String?)] = [
                ("id", client.id.rawValue), ("name", client.name), ("public", client.isPublic ? "true" : "false"),
                ("redirectURIs", list(client.redirectURIs)), ("logoutURIs", list(client.logoutURIs)),
                ("backChannelLogoutURI", client.backChannelLogoutURI),
                ("backChannelPublicOnly", client.backChannelPublicOnly ? "true" : "false"),
                ("scopes", OpenIDScope.text(client.scopes)),
                ("groups", list(client.groups)),
                ("requirePKCE", client.requiresPKCE ? "true" : "false"),
                ("formerSecretUntil", client.secrets?.formerUntil?.shown(style)),
                ("createdAt", client.createdAt.shown(style)), ("updatedAt", client.updatedAt.shown(style)),
                ("lastUsedAt", client.lastUsedAt?.shown(style)),
                ("lastRefusedAt", client.lastRefusedAt?.shown(style)),
            ]
            try CommandOutput.table(TextTable([.init(""), .init("")], rows: rows.map { [$0.0, $0.1] }))
        }
    }
}

/// `bramley clients rotate-secret`
struct ClientsRotateSecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-secret", abstract: "Create a new secret and print it once.",
        discussion: "The old secret stays valid for a while, so that you can change the program without an outage.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The client's id.") var id: ClientIDArgument

    @Option(help: ArgumentHelp("Days for which the old secret stays valid, 0 to 90.", valueName: "days"))
    var keepOld = 7

    func validate() throws {
        guard (0...90).contains(keepOld) else { throw ValidationError("--keep-old is 0 to 90 days.") }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let (id, now) = (id.id, place.now)
            guard let before = try await place.database.openIDClient(id) else { throw ClientChange.unknown(id) }
            guard !before.isPublic else { throw CommandFailure("\(id) is a public client: it has no secret.") }
            let secret = OpenIDClientSecret.make(random: place.random)
            let end = now.adding(seconds: Int64(keepOld) * 86_400)
            let clients = try await place.database.changeOpenIDClients(at: now) { clients in
                clients.map { client in
                    guard client.id == id else { return client }
                    var client = client
                    client.replaceSecret(by: secret.hash, keepingOldUntil: end, at: now)
                    return client
                }
            }
            guard let client = clients.first(where: { $0.id == id }) else { throw ClientChange.unknown(id) }
            try ClientChange.show(client, secret, json: output.json)
            CommandOutput.remark(
                keepOld == 0 ? "The old secret has ended." : "The old secret stays valid until \(end.rfc3339).")
        }
    }
}

/// `bramley clients delete`
struct ClientsDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a client. Its tokens end at once.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @Argument(help: "The client's id.") var id: ClientIDArgument

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let id = id.id
            guard let client = try await place.database.openIDClient(id) else { throw ClientChange.unknown(id) }
            try confirmation.confirm(
                "Nobody can sign in to \(client.name) (\(id)) any more, and its tokens end.", id: id.rawValue)
            _ = try await place.database.changeOpenIDClients(at: place.now) { $0.filter { $0.id != id } }
            if output.json {
                try CommandOutput.json { OpenIDClientDocument.write(client, to: &$0) }
            } else {
                try CommandOutput.line("\(id) deleted")
            }
        }
    }
}

/// A client's id on the command line.
struct ClientIDArgument: Sendable, ExpressibleByArgument {
    let id: OpenIDClientID

    init?(argument: String) {
        guard let id = OpenIDClientID(parsing: argument) else { return nil }
        self.id = id
    }
}

/// What the commands that change clients have in common.
enum ClientChange {
    static func unknown(_ id: OpenIDClientID) -> CommandFailure { CommandFailure("There is no client \(id).") }

    /// Refuses a client that cannot work.
    static func require(_ client: OpenIDClient, _ place: OperatorDatabase) throws(CommandFailure) {
        let problems = client.problems(audiences: place.configuration.audiences.map(\.name))
        guard problems.isEmpty else {
            throw .usage(
                "\(client.id): " + problems.map { LogEscaping.escaped($0.description) }.joined(separator: "; ") + ".")
        }
    }

    /// Prints what the program needs, with its secret if there is a new one.
    static func show(_ client: OpenIDClient, _ secret: OpenIDClientSecret?, json: Bool) throws {
        if json {
            try CommandOutput.json { OpenIDClientDocument.write(client, secret: secret, to: &$0) }
        } else if let secret {
            try CommandOutput.line("client ID:     \(client.id)")
            try CommandOutput.line("client secret: \(secret.reveal())")
        } else {
            try CommandOutput.line("client ID: \(client.id)")
        }
        if secret != nil {
            CommandOutput.remark("Keep the secret now; it is not shown again, and the database does not hold it.")
        }
    }
}
