internal import ArgumentParser
internal import Coding
internal import Crypto
internal import OpenIDProvider
internal import RelyingParty
internal import Sockets
internal import Storage
internal import Web

/// `bramley clients apply`
struct ClientsApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Make the clients what a file says, and print what changes.",
        discussion: """
            The file is {"clients": [{"clientID", "name", "public", "redirectURIs", "logoutURIs", "backChannelLogoutURI", \
            "scopes", "groups", "requirePKCE", "clientSecretSHA256"}]}; clientID and redirectURIs are required. Without clientSecretSHA256, 64 \
            hexadecimal digits, a new client gets a secret, which is printed once, and an existing one keeps its own. \
            Applying a file twice changes nothing.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file")) var file: String
    @Flag(help: "Print what would change, and change nothing.") var dryRun = false
    @Flag(help: "Delete clients that the file does not name. Their tokens end.") var prune = false

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let wanted = try ClientFile.parse(try Self.read(file))
            let now = place.now
            let before = try await place.database.openIDClients()
            var secrets: [OpenIDClientID: OpenIDClientSecret] = [:]
            for entry in wanted where entry.needsSecret(before) {
                secrets[entry.id] = OpenIDClientSecret.make(random: place.random)
            }
            let (made, prune) = (secrets, prune)
            let plan: @Sendable ([OpenIDClient]) -> [OpenIDClient] = { clients in
                let kept = prune ? [] : clients.filter { client in !wanted.contains { $0.id == client.id } }
                return kept
                    + wanted.map { entry in
                        entry.client(
                            replacing: clients.first { $0.id == entry.id }, secret: made[entry.id]?.hash, at: now)
                    }
            }
            for client in plan(before) { try ClientChange.require(client, place) }
            let after =
                dryRun ? plan(before) : try await place.database.changeOpenIDClients(at: now, plan)
            try show(ClientDifference.all(before, after), secrets: dryRun ? [:] : secrets)
        }
    }

    private func show(_ changes: [ClientDifference], secrets: [OpenIDClientID: OpenIDClientSecret]) throws {
        if output.json {
            try CommandOutput.json { writer in
                writer.beginObject()
                writer.name("changes")
                writer.beginArray()
                for change in changes {
                    writer.beginObject()
                    writer.member("clientID", change.id.rawValue)
                    writer.member("change", change.kind.rawValue)
                    if let secret = secrets[change.id] { writer.member("clientSecret", secret.reveal()) }
                    writer.name("members")
                    writer.beginArray()
                    for member in change.members { writer.write(member) }
                    writer.endArray()
                    writer.endObject()
                }
                writer.endArray()
                writer.endObject()
            }
            return
        }
        for change in changes {
            let members = change.members.isEmpty ? "" : ": " + change.members.joined(separator: ", ")
            try CommandOutput.line("\(change.id) \(change.kind.rawValue)\(members)")
            if let secret = secrets[change.id] { try CommandOutput.line("  client secret: \(secret.reveal())") }
        }
        if changes.isEmpty { CommandOutput.remark("Nothing to change.") }
        if dryRun { CommandOutput.remark("Dry run: nothing was changed.") }
    }

    /// Bytes of the file.
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
        return bytes
    }
}

/// What differs between two states of a client.
struct ClientDifference {
    enum Kind: String {
        case added, changed, deleted
    }

    var id: OpenIDClientID
    var kind: Kind
    /// Of a changed one.
    var members: [String] = []

    /// Of all clients, by id.
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
            ("backChannelLogoutURI", old.backChannelLogoutURI != new.backChannelLogoutURI),
            ("scopes", old.scopes != new.scopes), ("groups", old.groups != new.groups),
            ("requirePKCE", old.requiresPKCE != new.requiresPKCE),
            ("clientSecret", !old.isPublic && !new.isPublic && old.secrets?.current != new.secrets?.current),
        ].filter(\.1).map(\.0)
    }
}

/// One client of an apply file.
struct ClientFile: Sendable {
    var id: OpenIDClientID
    var name: String?
    var isPublic = false
    var redirectURIs: [String] = []
    var logoutURIs: [String] = []
    var backChannelLogoutURI: String?
    var scopes = OpenIDScope.usual
    var groups: [String] = []
    var requiresPKCE = false
    /// SHA-256 of its secret.
    var secret: Digest256?

    /// How long the secret before stays valid, in seconds.
    private static let keepOld: Int64 = 7 * 86_400

    func needsSecret(_ clients: [OpenIDClient]) -> Bool {
        !isPublic && secret == nil && clients.first { $0.id == id }?.secrets == nil
    }

    func client(replacing old: OpenIDClient?, secret made: Digest256?, at now: Timestamp) -> OpenIDClient {
        var client =
            old
            ?? OpenIDClient(id: id, name: id.rawValue, secrets: nil, redirectURIs: [], createdAt: now, updatedAt: now)
        client.name = name ?? id.rawValue
        client.redirectURIs = redirectURIs
        client.logoutURIs = logoutURIs
        client.backChannelLogoutURI = backChannelLogoutURI
        client.scopes = scopes
        client.groups = groups
        client.requiresPKCE = requiresPKCE
        if isPublic {
            client.secrets = nil
        } else if let hash = secret ?? made, client.secrets?.current != hash {
            client.replaceSecret(by: hash, keepingOldUntil: now.adding(seconds: Self.keepOld), at: now)
        }
        if client != old { client.updatedAt = now }
        return client
    }

    // MARK: Parsing

    static func parse(_ bytes: [UInt8]) throws(CommandFailure) -> [ClientFile] {
        let root: JSONValue
        do { root = try JSONReader.parse(bytes) } catch { throw .usage("The file is no JSON: \(error).") }
        guard let object = root.objectValue, object.count == 1, let list = object["clients"]?.arrayValue else {
            throw .usage(#"The file must be {"clients": […]}."#)
        }
        var clients: [ClientFile] = []
        for (index, value) in list.enumerated() {
            let client = try ClientFile(value, "clients[\(index)]")
            guard !clients.contains(where: { $0.id == client.id }) else {
                throw .usage("\(client.id) is in the file twice.")
            }
            clients.append(client)
        }
        return clients
    }

    private init(_ value: JSONValue, _ place: String) throws(CommandFailure) {
        guard let object = value.objectValue else { throw .usage("\(place) is no object.") }
        guard let text = object["clientID"]?.stringValue, let id = OpenIDClientID(parsing: text) else {
            throw .usage("\(place).clientID must have 1 to 64 letters, digits, dots, hyphens and underscores.")
        }
        self.id = id
        for member in object.members where member.name != "clientID" {
            let name = "\(id): \(member.name)"
            switch member.name {
            case "name": self.name = try Self.text(member.value, name)
            case "public": isPublic = try Self.flag(member.value, name)
            case "redirectURIs": redirectURIs = try Self.list(member.value, name)
            case "logoutURIs": logoutURIs = try Self.list(member.value, name)
            case "backChannelLogoutURI": backChannelLogoutURI = try Self.text(member.value, name)
            case "groups": groups = try Self.list(member.value, name)
            case "requirePKCE": requiresPKCE = try Self.flag(member.value, name)
            case "scopes":
                let words = try Self.list(member.value, name)
                for word in words where OpenIDScope(rawValue: word) == nil {
                    throw .usage("\(name): \(LogEscaping.escaped(word).quoted) is no scope.")
                }
                scopes = OpenIDScope.parse((words + ["openid"]).joined(separator: " "))
            case "clientSecretSHA256":
                let text = try Self.text(member.value, name)
                guard let hash = Hexadecimal.decode(text).flatMap({ Digest256(bytes: $0) }) else {
                    throw .usage("\(name) must have 64 hexadecimal digits.")
                }
                secret = hash
            default:
                throw .usage(
                    "\(id): unknown member \(LogEscaping.escaped(member.name).quoted); accepted: clientID, name, public, "
                        + "redirectURIs, logoutURIs, backChannelLogoutURI, scopes, groups, requirePKCE, clientSecretSHA256."
                )
            }
        }
        guard !(isPublic && secret != nil) else { throw .usage("\(id): a public client has no secret.") }
    }

    private static func text(_ value: JSONValue, _ name: String) throws(CommandFailure) -> String {
        guard let text = value.stringValue else { throw .usage("\(name) must be a text.") }
        return text
    }

    private static func flag(_ value: JSONValue, _ name: String) throws(CommandFailure) -> Bool {
        guard case .bool(let flag) = value else { throw .usage("\(name) must be true or false.") }
        return flag
    }

    private static func list(_ value: JSONValue, _ name: String) throws(CommandFailure) -> [String] {
        let texts = value.arrayValue?.compactMap(\.stringValue)
        guard let texts, texts.count == value.arrayValue?.count else {
            throw .usage("\(name) must be a list of texts.")
        }
        return texts
    }
}
