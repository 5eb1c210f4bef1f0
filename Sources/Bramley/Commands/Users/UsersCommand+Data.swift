internal import Accounts
import ArgumentParser
internal import Sockets
internal import Web

extension UsersCommand {
    struct Delete: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user and all their data. Asks for confirmation.",
            discussion: """
                Ends their sessions, erases names, addresses and notifications, and queues their refresh tokens for \
                revocation at Apple by a running server. The journal keeps ids.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
        var person: UserReference

        func run(on place: OperatorDatabase) async throws {
            let finding = try await person.find(in: place)
            let (user, id) = (finding.user, finding.user.id)
            if confirmation.yes { try confirmation.confirm([finding], "will be deleted") }
            let sessions = try await place.database.sessionCount(of: id, at: place.now)
            try confirmation.confirm(
                "\(UserRows.mention(user)) and everything kept about them will be deleted for good; "
                    + "\(sessions) \(sessions == 1 ? "session ends" : "sessions end").", id: id.rawValue)
            guard case .deleted(let tokens) = try await place.database.deleteUser(id, at: place.now) else {
                throw CommandFailure("There is no user \(id).")
            }
            try options.show(
                "\(id) deleted",
                [
                    ("id", .code(id.rawValue)), ("deleted", .flag(true)), ("appleNotified", .flag(tokens > 0)),
                    ("revocationsQueued", .number(tokens)),
                ])
            if tokens > 0 {
                CommandOutput.remark(
                    "Queued for revocation at Apple: \(tokens) refresh \(tokens == 1 ? "token" : "tokens"). "
                        + "A running bramley serve sends it; bramley credentials revocations shows what waits.")
            } else {
                CommandOutput.remark(
                    "Apple cannot be notified: no refresh token was stored. The person can remove the site in their Apple "
                        + "Account: Sign-In and Security, Sign in with Apple.")
            }
        }
    }

    struct Export: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Export all data about a user as JSON.")

        @OptionGroup var options: OperatorOptions

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("A new file, created with mode 600. (default: standard output)", valueName: "file"))
        var output: String?

        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
        var person: UserReference

        func run(on place: OperatorDatabase) async throws {
            let now = place.now
            let id = try await person.find(in: place).user.id
            let found = try await place.database.accountRecord(of: id, newest: 0, at: now)
            guard let record = found else {
                throw CommandFailure("There is no user \(id).")
            }
            try await place.database.record(.userExported, user: id, object: nil, at: now)
            var export = AccountExport(record, place.database, at: now)
            guard let output else {
                while let piece = try await export.next() { try CommandOutput.write(piece) }
                return try CommandOutput.write([UInt8(ascii: "\n")])
            }
            var document: [UInt8] = []
            while let piece = try await export.next() { document += piece }
            document.append(UInt8(ascii: "\n"))
            do {
                try Files.create(output, mode: 0o600, bytes: document)
            } catch {
                throw CommandFailure("\(output) cannot be written: \(error).")
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

        @Flag(help: "Report what would happen without changing anything.")
        var dryRun = false

        @Option(
            name: .customLong("from"), help: ArgumentHelp("The product that wrote the lines.", valueName: "product"))
        var format = ImportFormat.bramley

        @Argument(help: "A file of JSON lines, or - for standard input.")
        var file: String

        func run(on place: OperatorDatabase) async throws {
            let (report, advice) = try await Interruption.cancelling {
                let input = try InputFile.open(
                    file, without: 0o077,
                    "read by others, and refresh tokens are secrets: run chmod 600 \(file), and delete it when you are "
                        + "done.")
                var run = ImportRun(input, from: format, place: place, isRehearsal: dryRun)
                return (try await run.run(), run.advice)
            }
            try options.show(report.text, report.members)
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue: what was done is kept.")
            }
            try Self.judge(report, advice)
        }

        /// - Throws: `ExitCode` or `CommandFailure` for an import that lacks somebody.
        private static func judge(_ report: ImportReport, _ advice: ImportAdvice) throws {
            if report.lines > 0, report.recognised == 0 {
                CommandOutput.remark("warning: \(advice.text)")
                throw ExitCode(CommandFailure.unusableData)
            }
            if report.refused > 0 {
                throw CommandFailure("\(report.refused) lines refused; each has its reason above.")
            }
            if report.otherIdentities > 0 {
                throw CommandFailure(
                    "\(report.otherIdentities) further Apple identities not imported; each is named above.")
            }
        }
    }
}
