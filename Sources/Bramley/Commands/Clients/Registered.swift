internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets

/// What an operator registers, and what then proves itself by a secret: a client, or a service.
protocol Registered: Sendable {
    associatedtype Secret: SecretToken
    /// `client`: of the names in commands and files, `clients`, `clientID` and `clientSecret`.
    static var noun: String { get }
    static func fields(with secret: Secret?) -> [Field<Self>]
    var id: OpenIDClientID { get }
    /// In the terms of the file.
    func differences(from old: Self) -> [String]
}

extension Registered {
    typealias Saved = (item: Self, secret: Secret?, before: Self?)

    static func unknown(_ id: OpenIDClientID) -> CommandFailure { CommandFailure("There is no \(noun) \(id).") }

    static func saved(
        _ outcome: RegistrationOutcome<Self, Secret>, _ id: OpenIDClientID
    ) throws(CommandFailure) -> Saved {
        switch outcome {
        case .saved(let item, let secret, let before): return (item, secret, before)
        case .unknown: throw unknown(id)
        case .taken:
            throw CommandFailure("There already is a \(noun) \(id). Change it with bramley \(noun)s update.")
        case .withoutSecret: throw CommandFailure("\(id) is a public client and has no secret.")
        case .invalid(let problems): throw refusal(of: id, problems)
        }
    }

    static func refusal(of id: OpenIDClientID, _ problems: [ClientProblem]) -> CommandFailure {
        .usage("\(id): " + problems.map { LogEscaping.escaped($0.description) }.joined(separator: "; ") + ".")
    }

    static func show(_ saved: Saved, _ options: CommandOptions) throws {
        let (item, secret) = (saved.item, saved.secret)
        let text =
            secret.map { "\(noun) ID:     \(item.id)\n\(noun) secret: \($0.reveal())" } ?? "\(noun) ID: \(item.id)"
        try options.show(text, item, fields(with: secret))
        if secret != nil {
            CommandOutput.remark("Save the secret now. It is not shown again, and only its hash is stored.")
        }
    }

    static func show(_ item: Self, _ options: CommandOptions, _ lines: [Field<Self>]) throws {
        if options.json { return try CommandOutput.json { $0.write(item, fields(with: nil)) } }
        try CommandOutput.fields(of: item, lines, separator: " ")
    }
}

struct RotationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Days that the old secret stays valid, 0 to 90.", valueName: "days"))
    var keepOld = 7

    var seconds: Int64 { Int64(keepOld) * 86_400 }

    func validate() throws {
        guard (0...90).contains(keepOld) else { throw ValidationError("--keep-old must be 0 to 90 days.") }
    }

    func remark(at now: Timestamp) {
        let end = now.adding(seconds: seconds)
        CommandOutput.remark(
            keepOld == 0 ? "The old secret no longer works." : "The old secret stays valid until \(end.rfc3339).")
    }
}

/// A file of clients or services, and what applying it changes.
struct RegistrationFile: ParsableArguments {
    @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file")) var file: String
    @Flag(help: "Print what would change without changing anything.") var dryRun = false

    /// The objects of the list `name`, which must be all of the file.
    func entries(_ name: String) throws(CommandFailure) -> [JSONObject] {
        let bytes = try read()
        let root: JSONValue
        do { root = try JSONReader.parse(bytes) } catch { throw .usage("The file is not JSON: \(error).") }
        guard let object = root.objectValue, object.count == 1, let list = object[name]?.arrayValue else {
            throw .usage(#"The file must be {"\#(name)": […]}."#)
        }
        var entries: [JSONObject] = []
        for (index, value) in list.enumerated() {
            guard let object = value.objectValue else { throw .usage("\(name)[\(index)] is not an object.") }
            entries.append(object)
        }
        return entries
    }

    func show<Item: Registered>(
        _ before: [Item], _ after: [Item], secrets: [OpenIDClientID: Item.Secret], json: Bool
    ) throws {
        let changes = RegistrationChange.all(before, after)
        let secrets = dryRun ? [:] : secrets
        if json {
            let objects = changes.map { change -> [FieldValue.Member] in
                let secret = secrets[change.id].map { [("\(Item.noun)Secret", FieldValue.code($0.reveal()))] } ?? []
                return [("\(Item.noun)ID", .code(change.id.rawValue)), ("change", .text(change.kind.rawValue))]
                    + secret + [("members", .texts(change.members))]
            }
            return try CommandOutput.json { $0.write([("changes", .objects(objects))]) }
        }
        for change in changes {
            let members = change.members.isEmpty ? "" : ": " + change.members.joined(separator: ", ")
            try CommandOutput.line("\(change.id) \(change.kind.rawValue)\(members)")
            if let secret = secrets[change.id] {
                try CommandOutput.line("  \(Item.noun) secret: \(secret.reveal())")
            }
        }
        if changes.isEmpty { CommandOutput.remark("No changes.") }
        if dryRun { CommandOutput.remark("Dry run: nothing was changed.") }
    }

    private static let limit = 1 << 20

    private func read() throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(SystemError) {
            let input = try file == "-" ? InputFile.standardInput() : InputFile(path: file)
            while bytes.count <= Self.limit, try input.read(65_536, appendingTo: &bytes) > 0 {}
        } catch {
            throw CommandFailure("\(file) cannot be read: \(error).")
        }
        guard bytes.count <= Self.limit else { throw CommandFailure("\(file) is larger than \(Self.limit) bytes.") }
        return PastedText.utf8(bytes)
    }
}

private struct RegistrationChange {
    enum Kind: String {
        case added, changed, deleted
    }

    var id: OpenIDClientID
    var kind: Kind
    /// Of a changed one.
    var members: [String] = []

    static func all<Item: Registered>(_ before: [Item], _ after: [Item]) -> [RegistrationChange] {
        let gone = before.filter { old in !after.contains { $0.id == old.id } }
        let changes = after.compactMap { new -> RegistrationChange? in
            guard let old = before.first(where: { $0.id == new.id }) else {
                return RegistrationChange(id: new.id, kind: .added)
            }
            let members = new.differences(from: old)
            return members.isEmpty ? nil : RegistrationChange(id: new.id, kind: .changed, members: members)
        }
        return (changes + gone.map { RegistrationChange(id: $0.id, kind: .deleted) })
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }
}
