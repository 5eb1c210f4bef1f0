package import Accounts
package import ArgumentParser
package import Coding
internal import Crypto
internal import Sockets
import Storage

/// `bramley restore`
package struct RestoreCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup while the server is stopped.",
        discussion: """
            The backup is first read completely and opened with the configured sealing key. The current database is kept \
            next to it. Sessions that ended after the backup are valid again unless you pass --end-sessions. See \
            docs/backup.md.
            """)

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Flag(help: "End all sessions.")
    package var endSessions = false

    @Argument(help: "A file written by bramley backup.")
    package var file: String

    package init() {}

    package func run() async throws {
        try await CommandRun.reporting {
            Files.keepNewFilesPrivate()
            let configuration = try ConfigurationLoader.loadDatabase(options.input)
            guard configuration.storage.postgres == nil else { throw CommandFailure(PostgresBackup.advice) }
            let file = file
            let start = ContinuousClock.now
            let restore = try await Interruption.cancelling {
                let restore = try await Restore.prepare(
                    file, configuration, clock: SystemClock(), random: SystemRandom())
                do {
                    try confirmation.confirm(question(restore.contents, in: configuration.storage.directory))
                } catch {
                    restore.discard()
                    throw error
                }
                return restore
            }
            defer { restore.discard() }
            let ended =
                endSessions ? try await ProgressLine.during("signing everybody out", restore.endSessions) : nil
            let kept = try restore.commit()
            let milliseconds = Int64((ContinuousClock.now - start) / .milliseconds(1))
            let report = RestoreReport(
                file: file, contents: restore.contents, endedSessions: ended, keptAs: kept, milliseconds: milliseconds)
            if output.json {
                try CommandOutput.json { report.write(to: &$0) }
            } else {
                try CommandOutput.line(report.text)
            }
        }
    }

    private func question(_ contents: DatabaseExamination, in directory: String) -> String {
        let sessions = Quantity.count(contents.sessions, "session")
        return """
            \(file), with \(Quantity.count(contents.users, "user")) and \(sessions), takes the place of the database in \
            \(directory). \
            \(endSessions
                ? "Everybody will be signed out."
                : "Sessions that were ended since it was made live again; --end-sessions signs everybody out.")
            """
    }
}

/// The result of `bramley restore`.
package struct RestoreReport: Hashable, Sendable {
    package var file: String
    /// The backup's, unchanged.
    package var contents: DatabaseExamination
    /// Nil when sessions were kept.
    package var endedSessions: Int?
    /// The name of the previous database.
    package var keptAs: String?
    package var milliseconds: Int64

    /// For a person.
    package var text: String {
        var lines = [
            """
            \(file) is the database now: \(Quantity.count(contents.users, "user")), \
            \(Quantity.count(contents.sessions, "session")), \(Quantity.bytes(contents.file.bytes)) in \
            \(Quantity.seconds(milliseconds)).
            """
        ]
        if let keptAs { lines.append("The one before is \(keptAs): delete it when you do not need it any more.") }
        if let endedSessions {
            lines.append("\(Quantity.count(endedSessions, "session")) ended.")
        } else {
            lines.append(
                """
                Sessions that were ended after the backup live again. To sign everybody out: bramley sessions revoke \
                --all, before the server starts.
                """)
        }
        if contents.file.isOlder, endedSessions == nil {
            lines.append("It is of an older Bramley: bramley serve brings it up to date.")
        }
        return lines.joined(separator: "\n")
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("file", file)
        writer.member("bytes", Int64(contents.file.bytes))
        writer.member("milliseconds", milliseconds)
        writer.member("users", Int64(contents.users))
        writer.member("sessions", Int64(contents.sessions))
        if let endedSessions {
            writer.member("endedSessions", Int64(endedSessions))
        } else {
            writer.member("endedSessions", nil as String?)
        }
        writer.member("schema", contents.file.schema)
        writer.member("keptAs", keptAs)
        writer.endObject()
    }
}
