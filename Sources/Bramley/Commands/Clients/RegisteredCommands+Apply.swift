internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets

extension RegisteredCommands {
    struct Apply: DatabaseCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                abstract: "Apply a file of \(Item.noun)s and print the changes.", discussion: Item.fileForm)
        }

        @OptionGroup var options: CommandOptions
        @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file")) var file: String
        @Flag(help: "Print what would change without changing anything.") var dryRun = false
        @Flag(help: "Delete \(Item.pruned) that are not in the file. Their tokens stop working.") var prune = false

        func run(on context: OperatorDatabase) async throws {
            let now = context.now
            var entries: [Item.Entry] = []
            var secrets: [OpenIDClientID: Item.Secret] = [:]
            for object in try objects() {
                let secret = Item.Secret.make(random: context.random)
                let entry = try Item.entry(object, after: entries.map(\.id), secret: secret.hash, at: now)
                entries.append(entry)
                secrets[entry.id] = secret
            }
            let list = try await Item.registry(context).apply(isDryRun: dryRun, at: now) { [entries] found in
                let kept = found.filter { item in
                    !(prune && item.isPruned) && !entries.contains { $0.id == item.id }
                }
                return kept + entries.map { $0.item(found) }
            }
            if let (id, problems) = list.refused { throw Item.refusal(of: id, problems) }
            // Others keep theirs, or have one that the file gives.
            let made = secrets.filter { id, secret in
                !dryRun && list.after.contains { $0.id == id && $0.secretHash == secret.hash }
            }
            try show(Self.changes(list.before, list.after), secrets: made)
        }

        /// The objects of the list, which must be all of the file.
        private func objects() throws(CommandFailure) -> [JSONObject] {
            let name = "\(Item.noun)s"
            let bytes = try read()
            let root: JSONValue
            do { root = try JSONReader.parse(bytes) } catch { throw .usage("The file is not JSON: \(error).") }
            guard let object = root.objectValue, object.count == 1, let list = object[name]?.arrayValue else {
                throw .usage(#"The file must be {"\#(name)": […]}."#)
            }
            var objects: [JSONObject] = []
            for (index, value) in list.enumerated() {
                guard let object = value.objectValue else { throw .usage("\(name)[\(index)] is not an object.") }
                objects.append(object)
            }
            return objects
        }

        private func read() throws(CommandFailure) -> [UInt8] {
            let limit = 1 << 20
            var bytes: [UInt8] = []
            do throws(SystemError) {
                let input = try file == "-" ? InputFile.standardInput() : InputFile(path: file)
                while bytes.count <= limit, try input.read(65_536, appendingTo: &bytes) > 0 {}
            } catch {
                throw CommandFailure("\(file) cannot be read: \(error).")
            }
            guard bytes.count <= limit else { throw CommandFailure("\(file) is larger than \(limit) bytes.") }
            return PastedText.utf8(bytes)
        }

        /// By id; `members` of a changed one.
        private typealias Change = (id: OpenIDClientID, kind: String, members: [String])

        private static func changes(_ before: [Item], _ after: [Item]) -> [Change] {
            let gone = before.filter { old in !after.contains { $0.id == old.id } }
            let changes = after.compactMap { new -> Change? in
                guard let old = before.first(where: { $0.id == new.id }) else { return (new.id, "added", []) }
                let members = new.differences(from: old)
                return members.isEmpty ? nil : (new.id, "changed", members)
            }
            return (changes + gone.map { ($0.id, "deleted", []) }).sorted { $0.id.rawValue < $1.id.rawValue }
        }

        private func show(_ changes: [Change], secrets: [OpenIDClientID: Item.Secret]) throws {
            guard !options.json else {
                let objects = changes.map { change -> [FieldValue.Member] in
                    let secret = secrets[change.id].map { [("\(Item.noun)Secret", FieldValue.code($0.reveal()))] } ?? []
                    return [("\(Item.noun)ID", .code(change.id.rawValue)), ("change", .text(change.kind))]
                        + secret + [("members", .texts(change.members))]
                }
                return try CommandOutput.json { $0.write([("changes", .objects(objects))]) }
            }
            for change in changes {
                let members = change.members.isEmpty ? "" : ": " + change.members.joined(separator: ", ")
                try CommandOutput.line("\(change.id) \(change.kind)\(members)")
                if let secret = secrets[change.id] {
                    try CommandOutput.line("  \(Item.noun) secret: \(secret.reveal())")
                }
            }
            if changes.isEmpty { CommandOutput.remark("No changes.") }
            if dryRun { CommandOutput.remark("Dry run: nothing was changed.") }
        }
    }
}
