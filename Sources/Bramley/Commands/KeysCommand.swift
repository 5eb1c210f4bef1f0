internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Rotate the sealing key.", subcommands: [RotateSealing.self])

    struct RotateSealing: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the sealing key, or continue a rotation.",
            discussion: """
                Run it as the server's user, while the server runs. Run it again after an interruption, and after the \
                date it prints. With PostgreSQL, the first run makes the key that you copy to the other servers.
                """)

        @OptionGroup var options: CommandOptions
        @Flag(help: "Every other server has the next key, or there is no other.") var copied = false
        @Flag(help: "Make another key, although a former one is still needed.") var new = false

        /// How long a running server may take to use a new key, in seconds; it looks every second.
        private static let patience = 30

        func run(on context: OperatorDatabase) async throws {
            guard case .file(let path) = context.configuration.secrets.sealingKey else {
                throw CommandFailure(
                    "secrets.sealingKey contains the key. Write it to a file and name that in secrets.sealingKeyFile first."
                )
            }
            guard !Files.isSymbolicLink(path) else {
                throw CommandFailure("\(path) is a link: replace the key where it points.")
            }
            try await context.record("keys rotate-sealing")
            let next = SealingKeyFile.next(path)
            if new || SealingKeyFile.formers(path).isEmpty { try SealingKeyFile.prepare(path, context.random) }
            let isNew = GuardedFile.exists(next)
            if isNew {
                let stamp = try await context.database.sealingKeyStamp()?.keyID
                // Another server seals with it already.
                let isTaken = stamp?.isExactly(try SealingKeyFile.id(of: next)) == true
                guard copied || isTaken || !context.database.store.isShared else { return try askForCopies(path) }
                try SealingKeyFile.takeOver(path)
            }
            _ = context.keyring.replace(with: try SealingKeyFile.loadExisting(context.configuration))
            try await waitForServer(context)
            let report = try await Interruption.cancelling { try await CredentialsCommand.Reseal.reseal(context) }
            try show(report, path, isNew: isNew, context.keyring.keyIDs, at: context.now)
            try CredentialsCommand.Reseal.judge(report, context)
        }

        private func askForCopies(_ path: String) throws {
            let next = SealingKeyFile.next(path)
            try options.show(
                "Copy \(next) beside the sealing key of every other server, with the same owner and mode; each reads it "
                    + "within a second. Then run bramley keys rotate-sealing --copied here, and without --copied there.",
                [("step", .text("copy")), ("keyFile", .text(path)), ("nextKeyFile", .text(next))])
        }

        private func waitForServer(_ context: OperatorDatabase) async throws {
            let key = context.keyring.currentKeyID
            let isUsed = try await ProgressLine.during("waiting for the server to use the new key") {
                for _ in 0..<(Self.patience * 4) {
                    if try await context.database.sealingKeyStamp()?.keyID.isExactly(key) == true { return true }
                    try await Task.sleep(for: .milliseconds(250))
                }
                return false
            }
            guard !isUsed else { return }
            throw Self.unused(key, isShared: context.database.store.isShared)
        }

        static func unused(_ key: String, isShared: Bool) -> CommandFailure {
            let other =
                isShared
                ? ", or another server still seals with the former key: run it there with --copied" : ""
            return CommandFailure(
                "The new sealing key \(key) is in place, but no server uses it yet. Start bramley serve, then run this "
                    + "again; if it runs, its log says why\(other).")
        }

        private func show(
            _ report: ResealReport, _ path: String, isNew: Bool, _ keys: [String], at now: Timestamp
        ) throws {
            var (formers, unused) = (SealingKeyFile.formers(path), [String]())
            if report.isOver(at: now) {
                unused = try formers.map(SealingKeyFile.retire)
                formers = []
            }
            var text = (isNew ? "" : "No new key was made; --new makes one.\n") + report.text(at: now)
            if !formers.isEmpty {
                let isWaiting = report.previousKeysUntil.map { $0 > now } ?? false
                text += "\nRun this again\(isWaiting ? " after that" : "") to retire former keys: "
                text += formers.joined(separator: ", ") + "."
            }
            if !unused.isEmpty { text += "\nRetired: " + unused.joined(separator: ", ") + "." }
            if isNew { text += "\nBack up the new key, \(path)." }
            try options.show(
                text,
                [
                    ("step", .text(formers.isEmpty ? "done" : "resealed")), ("newKey", .flag(isNew)),
                    ("keyFile", .text(path)),
                    ("formerKeyFiles", .texts(formers)), ("unusedKeyFiles", .texts(unused)),
                ] + report.members(keys: keys))
        }
    }
}
