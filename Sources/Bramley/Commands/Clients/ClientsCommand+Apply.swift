internal import Accounts
import ArgumentParser
internal import Coding

extension ClientsCommand {
    struct Apply: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply a file of clients and print the changes.",
            discussion: """
                The file is {"clients": [{"clientID", "name", "public", "redirectURIs", "logoutURIs", \
                "backChannelLogoutURI", "scopes", "groups", "requirePKCE", "consent", "device", "clientSecretSHA256"}]}; \
                only clientID and, unless device is true, redirectURIs are required. clientSecretSHA256 is 64 \
                hexadecimal digits; without it, a new client gets a \
                secret, which is printed once, and an existing client keeps its own. Applying the same file again \
                changes nothing.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var file: RegistrationFile
        @Flag(help: "Delete registered clients that are not in the file. Their tokens stop working.") var prune = false

        func run(on context: OperatorDatabase) async throws {
            let wanted = try ClientRegistration.parse(try file.entries("clients"))
            let now = context.now
            let before = try await context.database.openIDClients()
            var secrets: [OpenIDClientID: OpenIDClientSecret] = [:]
            for entry in wanted where entry.needsSecret(before) {
                secrets[entry.id] = OpenIDClientSecret.make(random: context.random)
            }
            let made = secrets
            let plan: @Sendable ([OpenIDClient]) -> [OpenIDClient] = { clients in
                let kept = clients.filter { client in
                    (!prune || client.document != nil) && !wanted.contains { $0.id == client.id }
                }
                return kept
                    + wanted.map { entry in
                        entry.client(
                            replacing: clients.first { $0.id == entry.id }, secret: made[entry.id]?.hash, by: .command,
                            at: now)
                    }
            }
            for client in plan(before) {
                let problems = try await context.clients.problems(
                    of: client, before: before.first { $0.id == client.id })
                guard problems.isEmpty else { throw OpenIDClient.refusal(of: client.id, problems) }
            }
            let after =
                file.dryRun ? plan(before) : try await context.database.changeOpenIDClients(at: now, plan)
            try file.show(before, after, secrets: secrets, json: options.json)
        }
    }
}

extension OpenIDClient: Registered {
    static var noun: String { "client" }

    func differences(from old: OpenIDClient) -> [String] {
        [
            ("name", old.name != name), ("public", old.isPublic != isPublic),
            ("redirectURIs", old.redirectURIs != redirectURIs), ("logoutURIs", old.logoutURIs != logoutURIs),
            (
                "backChannelLogoutURI",
                old.backChannelLogoutURI != backChannelLogoutURI || old.backChannelPublicOnly != backChannelPublicOnly
            ),
            ("scopes", old.scopes != scopes), ("groups", old.groups != groups),
            ("requirePKCE", old.requiresPKCE != requiresPKCE), ("consent", old.needsConsent != needsConsent),
            ("device", old.allowsDevice != allowsDevice),
            ("clientSecret", !old.isPublic && !isPublic && old.secrets?.current != secrets?.current),
        ].filter(\.1).map(\.0)
    }
}

extension ClientRegistration {
    static func parse(_ entries: [JSONObject]) throws(CommandFailure) -> [ClientRegistration] {
        var clients: [ClientRegistration] = []
        for (index, object) in entries.enumerated() {
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
