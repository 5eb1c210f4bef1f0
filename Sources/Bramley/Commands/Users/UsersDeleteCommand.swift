internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets
internal import Storage
internal import Web

/// `bramley users delete`
struct UsersDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a user and all their data. Asks for confirmation.",
        discussion: """
            Ends their sessions, erases names, addresses and notifications, and queues their refresh tokens for \
            revocation at Apple by a running server. The journal keeps ids.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
    var person: UserReference

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let finding = try await person.find(in: place)
            let id = finding.user.id
            guard let user = try await place.database.user(id) else {
                throw CommandFailure("There is no user \(id).")
            }
            if confirmation.yes { try confirmation.confirm([finding], "will be deleted") }
            let sessions = try await place.database.sessionCount(of: id, at: place.now)
            try confirmation.confirm(
                "\(UserRows.mention(user)) and everything kept about them will be deleted for good; "
                    + "\(sessions) \(sessions == 1 ? "session ends" : "sessions end").", id: id.rawValue)
            guard case .deleted(let tokens) = try await place.database.deleteUser(id, at: place.now) else {
                throw CommandFailure("There is no user \(id).")
            }
            try output.show(
                "\(id) deleted", ("id", .code(id.rawValue)), ("deleted", .flag(true)),
                ("appleNotified", .flag(tokens > 0)), ("revocationsQueued", .number(tokens)))
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
}

/// `bramley users export`
struct UsersExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export all data about a user as JSON.")

    @OptionGroup var options: OperatorOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A new file, created with mode 600. (default: standard output)", valueName: "file"))
    var output: String?

    @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
    var person: UserReference

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
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
}
