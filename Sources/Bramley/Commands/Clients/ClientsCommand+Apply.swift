internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets

extension ClientsCommand {
    struct Apply: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply a file of clients and print the changes.",
            discussion: """
                The file is {"clients": [{"clientID", "name", "public", "redirectURIs", "logoutURIs", \
                "backChannelLogoutURI", "scopes", "groups", "requirePKCE", "clientSecretSHA256"}]}; only clientID and \
                redirectURIs are required. clientSecretSHA256 is 64 hexadecimal digits; without it, a new client gets a \
                secret, which is printed once, and an existing client keeps its own. Applying the same file again \
                changes nothing.
                """)

        @OptionGroup var options: CommandOptions
        @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file")) var file: String
        @Flag(help: "Print what would change without changing anything.") var dryRun = false
        @Flag(help: "Delete clients that are not in the file. Their tokens stop working.") var prune = false

        func run(on context: OperatorDatabase) async throws {
            let wanted = try ClientRegistration.parse(file: try Self.read(file))
            let now = context.now
            let before = try await context.database.openIDClients()
            var secrets: [OpenIDClientID: OpenIDClientSecret] = [:]
            for entry in wanted where entry.needsSecret(before) {
                secrets[entry.id] = OpenIDClientSecret.make(random: context.random)
            }
            let made = secrets
            let plan: @Sendable ([OpenIDClient]) -> [OpenIDClient] = { clients in
                let kept = prune ? [] : clients.filter { client in !wanted.contains { $0.id == client.id } }
                return kept
                    + wanted.map { entry in
                        entry.client(
                            replacing: clients.first { $0.id == entry.id }, secret: made[entry.id]?.hash, by: .command,
                            at: now)
                    }
            }
            for client in plan(before) {
                let problems = context.clients.problems(of: client)
                guard problems.isEmpty else { throw ClientsCommand.refusal(of: client.id, problems) }
            }
            let after = dryRun ? plan(before) : try await context.database.changeOpenIDClients(at: now, plan)
            try show(ClientDifference.all(before, after), secrets: dryRun ? [:] : secrets)
        }

        private func show(_ changes: [ClientDifference], secrets: [OpenIDClientID: OpenIDClientSecret]) throws {
            if options.json {
                let objects = changes.map { change -> [FieldValue.Member] in
                    let secret = secrets[change.id].map { [("clientSecret", FieldValue.code($0.reveal()))] } ?? []
                    return [("clientID", .code(change.id.rawValue)), ("change", .text(change.kind.rawValue))] + secret
                        + [("members", .texts(change.members))]
                }
                return try CommandOutput.json { $0.write([("changes", .objects(objects))]) }
            }
            for change in changes {
                let members = change.members.isEmpty ? "" : ": " + change.members.joined(separator: ", ")
                try CommandOutput.line("\(change.id) \(change.kind.rawValue)\(members)")
                if let secret = secrets[change.id] { try CommandOutput.line("  client secret: \(secret.reveal())") }
            }
            if changes.isEmpty { CommandOutput.remark("No changes.") }
            if dryRun { CommandOutput.remark("Dry run: nothing was changed.") }
        }

        private static let limit = 1 << 20

        private static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
            var bytes: [UInt8] = []
            do throws(SystemError) {
                let input = try path == "-" ? InputFile.standardInput() : InputFile(path: path)
                while bytes.count <= limit, try input.read(65_536, appendingTo: &bytes) > 0 {}
            } catch {
                throw CommandFailure("\(path) cannot be read: \(error).")
            }
            guard bytes.count <= limit else { throw CommandFailure("\(path) is larger than \(limit) bytes.") }
            return PastedText.utf8(bytes)
        }
    }
}

struct ClientDifference {
    enum Kind: String {
        case added, changed, deleted
    }

    var id: OpenIDClientID
    var kind: Kind
    /// Of a changed one.
    var members: [String] = []

    static func all(_ before: [OpenIDClient], _ after: [OpenIDClient]) -> [ClientDifference] {
        let gone = before.filter { old in !after.contains { $0.id == old.id } }
        let changes = after.compactMap { new -> ClientDifference? in
            guard let old = before.first(where: { $0.id == new.id }) else {
                return ClientDifference(id: new.id, kind: .added)
            }
            let members = members(old, new)
            return members.isEmpty ? nil : ClientDifference(id: new.id, kind: .changed, members: members)
        }
        return (changes + gone.map { ClientDifference(id: $0.id, kind: .deleted) })
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// In the terms of the file.
    private static func members(_ old: OpenIDClient, _ new: OpenIDClient) -> [String] {
        [
            ("name", old.name != new.name), ("public", old.isPublic != new.isPublic),
            ("redirectURIs", old.redirectURIs != new.redirectURIs), ("logoutURIs", old.logoutURIs != new.logoutURIs),
            (
                "backChannelLogoutURI",
                old.backChannelLogoutURI != new.backChannelLogoutURI
                    || old.backChannelPublicOnly != new.backChannelPublicOnly
            ),
            ("scopes", old.scopes != new.scopes), ("groups", old.groups != new.groups),
            ("requirePKCE", old.requiresPKCE != new.requiresPKCE),
            ("clientSecret", !old.isPublic && !new.isPublic && old.secrets?.current != new.secrets?.current),
        ].filter(\.1).map(\.0)
    }
}

extension ClientRegistration {
    static func parse(file bytes: [UInt8]) throws(CommandFailure) -> [ClientRegistration] {
        let root: JSONValue
        do { root = try JSONReader.parse(bytes) } catch { throw .usage("The file is not JSON: \(error).") }
        guard let object = root.objectValue, object.count == 1, let list = object["clients"]?.arrayValue else {
            throw .usage(#"The file must be {"clients": […]}."#)
        }
        var clients: [ClientRegistration] = []
        for (index, value) in list.enumerated() {
            guard let object = value.objectValue else { throw .usage("clients[\(index)] is not an object.") }
            guard let id = object["clientID"]?.stringValue.flatMap({ OpenIDClientID(parsing: $0) }) else {
                throw .usage(
                    "clients[\(index)].clientID must be 1 to 64 letters, digits, dots, hyphens or underscores.")
            }
            guard !clients.contains(where: { $0.id == id }) else { throw .usage("\(id) is in the file twice.") }
            do {
                clients.append(try ClientRegistration(object, of: id))
            } catch {
                throw .usage("\(id): \(LogEscaping.escaped("\(error)")).")
            }
        }
        return clients
    }
}
