internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets
internal import Web

extension UsersCommand {
    struct Delete: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user and all their data. Asks for confirmation.",
            discussion: """
                Ends their sessions, erases names, addresses and notifications, and queues their refresh tokens, which \
                a running server then revokes at Apple. The journal keeps ids.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person")) var person: UserReference

        func run(on context: OperatorDatabase) async throws {
            let finding = try await person.find(in: context)
            let (user, id) = (finding.user, finding.user.id)
            if confirmation.yes { try await confirmation.confirm([finding], "will be deleted") }
            let sessions = try await context.database.sessionCount(of: id, at: context.now)
            try await confirmation.confirm(
                "\(UserRows.mention(user)) and all their data will be permanently deleted; "
                    + "\(Quantity.count(sessions, "session")) will end.", id: id.rawValue)
            guard case .deleted(let tokens) = try await context.database.deleteUser(id, at: context.now) else {
                throw CommandFailure("There is no user \(id).")
            }
            try options.show(
                "\(id) deleted",
                [
                    ("id", .code(id.rawValue)), ("deleted", .flag(true)), ("appleNotified", .flag(tokens > 0)),
                    ("revocationsQueued", .number(tokens)),
                ])
            CommandOutput.remark(
                tokens > 0
                    ? "Queued for revocation at Apple: \(Quantity.count(tokens, "refresh token")). "
                        + "A running bramley serve sends the requests; bramley credentials revocations lists them."
                    : "Apple cannot be notified because no refresh token was stored. The person can remove the site in "
                        + "their Apple Account: Sign-In and Security, Sign in with Apple.")
        }
    }

    struct Export: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Export all data about a user as JSON.")

        @OptionGroup var options: OperatorOptions

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("A new file, created with mode 600. (default: standard output)", valueName: "file"))
        var output: String?

        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person")) var person: UserReference

        func run(on context: OperatorDatabase) async throws {
            if let output, GuardedFile.exists(output) {
                throw CommandFailure("\(output) already exists. Choose another name; nothing was exported.")
            }
            let now = context.now
            let id = try await person.find(in: context).user.id
            let found = try await context.database.accountRecord(of: id, newest: 0, at: now)
            guard let record = found else { throw CommandFailure("There is no user \(id).") }
            try await context.database.record(.userExported, user: id, object: nil, at: now)
            var export = AccountExport(record, context.database, at: now)
            guard let output else {
                while let piece = try await export.next() { try CommandOutput.write(piece) }
                return try CommandOutput.write([UInt8(ascii: "\n")])
            }
            var document: [UInt8] = []
            while let piece = try await export.next() { document += piece }
            document.append(UInt8(ascii: "\n"))
            try await translating(try Files.create(output, mode: 0o600, bytes: document)) { (error: SystemError) in
                CommandFailure("\(output) cannot be written: \(error).")
            }
        }
    }

    struct Import: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import people who already use Sign in with Apple, as JSON lines.",
            discussion: """
                Fills empty fields and overwrites nothing, so you can import a file again. docs/operate/import.md \
                describes the members, and how to export people from other products.
                """)

        @OptionGroup var options: CommandOptions
        @Flag(help: "Report what would change without changing anything.") var dryRun = false

        @Option(name: .customLong("from"), help: ArgumentHelp("The product that wrote the file.", valueName: "product"))
        var format = ImportFormat.bramley

        @Argument(help: "A file of JSON lines, or - for standard input.") var file: String

        func run(on context: OperatorDatabase) async throws {
            let (report, advice) = try await Interruption.cancelling {
                let input = try InputFile.open(
                    file, without: 0o077,
                    "read by others, and refresh tokens are secrets. Run chmod 600 \(file), and delete it when you are "
                        + "done.")
                var run = ImportRun(input, from: format, context: context, isRehearsal: dryRun)
                return (try await run.run(), run.advice)
            }
            try options.show(report.text, report.members)
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue; completed work is kept.")
            }
            try Self.judge(report, advice)
        }

        private static func judge(_ report: ImportReport, _ advice: ImportAdvice) throws {
            if report.lines > 0, report.recognised == 0 {
                CommandOutput.remark("warning: \(advice.text)")
                throw ExitCode(CommandFailure.unusableData)
            }
            if report.refused > 0 {
                throw CommandFailure("\(Quantity.count(report.refused, "line")) refused, each for the reason above.")
            }
            if report.otherIdentities > 0 {
                throw CommandFailure(
                    "\(report.otherIdentities) additional Apple identities not imported; they are listed above.")
            }
        }
    }
}
