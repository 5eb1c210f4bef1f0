internal import Accounts
import ArgumentParser
import Coding
internal import Sockets
internal import Storage

struct RestoreCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup while the server is stopped.",
        discussion: """
            First verifies the whole backup and opens it with the configured sealing key. The previous database is \
            kept under another name. Sessions that ended after the backup are valid again unless you pass \
            --end-sessions. See docs/operate/backup.md.
            """)

    @OptionGroup var options: CommandOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @Flag(help: "End all sessions.") var endSessions = false
    @Argument(help: "A file written by bramley backup.") var file: String

    func perform() async throws {
        Files.keepNewFilesPrivate()
        let configuration = try ConfigurationLoader.loadDatabase(options.input)
        guard configuration.storage.postgres == nil else { throw CommandFailure(BackupCommand.adviceForPostgres) }
        let start = ContinuousClock.now
        let restore = try await Interruption.cancelling {
            let restore = try await Restore.prepare(file, configuration, clock: SystemClock())
            do {
                try await confirmation.confirm(question(restore.contents, in: configuration.storage.directory))
            } catch {
                restore.discard()
                throw error
            }
            return restore
        }
        defer { restore.discard() }
        let ended = endSessions ? try await ProgressLine.during("ending all sessions", restore.endSessions) : nil
        let kept = try restore.commit()
        let (milliseconds, contents) = (Int((ContinuousClock.now - start) / .milliseconds(1)), restore.contents)
        try options.show(
            text(contents, ended: ended, keptAs: kept, milliseconds),
            [
                ("file", .text(file)), ("bytes", .number(contents.file.bytes)),
                ("milliseconds", .number(milliseconds)), ("users", .number(contents.users)),
                ("sessions", .number(contents.sessions)), ("endedSessions", .number(ended)),
                ("schema", .text(contents.file.schema)), ("keptAs", .text(kept)),
            ])
    }

    private func question(_ contents: DatabaseExamination, in directory: String) -> String {
        let sessions = Quantity.count(contents.sessions, "session")
        return """
            \(file), with \(Quantity.count(contents.users, "user")) and \(sessions), will replace the database in \
            \(directory). \
            \(endSessions
                ? "All sessions will end."
                : "Sessions that ended after the backup will be valid again; --end-sessions ends them all.")
            """
    }

    /// - Parameter ended: nil when sessions were kept.
    private func text(
        _ contents: DatabaseExamination, ended: Int?, keptAs kept: String?, _ milliseconds: Int
    ) -> String {
        var lines = [
            """
            Restored \(file): \(Quantity.count(contents.users, "user")), \
            \(Quantity.count(contents.sessions, "session")), \(Quantity.bytes(contents.file.bytes)) in \
            \(Quantity.seconds(milliseconds)).
            """
        ]
        if let kept { lines.append("The previous database is kept as \(kept). Delete it when you no longer need it.") }
        if let ended {
            lines.append("\(Quantity.count(ended, "session")) ended.")
        } else {
            lines.append(
                """
                Sessions that ended after the backup are valid again. To end all sessions, run bramley sessions \
                revoke --all before you start the server.
                """)
        }
        if contents.file.isOlder, ended == nil {
            lines.append("The backup is from an older version of Bramley; bramley serve updates its schema.")
        }
        return lines.joined(separator: "\n")
    }
}
