internal import Accounts
import ArgumentParser
import Coding
internal import Sockets
internal import Storage

struct BackupCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up the database to a file while the server runs.",
        discussion: """
            Sign-ins continue meanwhile. The file appears under its name only when it is complete, verified and on \
            disk. It does not contain the sealing key; back that up separately. See docs/operate/backup.md.
            """)

    @OptionGroup var options: CommandOptions
    @Flag(help: "Replace an earlier backup.") var force = false
    @Argument(help: "The file to write, readable only by its owner.") var file: String

    func perform() async throws {
        Files.keepNewFilesPrivate()
        let storage = try ConfigurationLoader.loadDatabase(options.input).storage
        guard storage.postgres == nil else { throw CommandFailure(Self.adviceForPostgres) }
        let directory = storage.directory
        let (start, now) = (ContinuousClock.now, SystemClock().now())
        let contents = try await Interruption.cancelling {
            try await Self.backup(directory, to: file, replacing: force, clock: SystemClock())
        }
        let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        let keyID = contents.file.sealingKeyID
        try options.show(
            """
            \(file): \(Quantity.bytes(contents.file.bytes)) in \(Quantity.seconds(milliseconds)), \
            \(Quantity.count(contents.users, "user")) and \(Quantity.count(contents.sessions, "session")). The \
            backup is verified.
            Only the sealing key\(keyID.map { " \($0)" } ?? "") opens it. Back that key up too, separately.
            """,
            [
                ("file", .text(file)), ("bytes", .number(contents.file.bytes)),
                ("milliseconds", .number(milliseconds)), ("takenAt", .time(now)),
                ("users", .number(contents.users)), ("sessions", .number(contents.sessions)),
                ("schema", .text(contents.file.schema)), ("sealingKeyID", .text(keyID)),
            ])
    }

    private static func backup(
        _ directory: String, to file: String, replacing: Bool, clock: any WallClock
    ) async throws(CommandFailure) -> DatabaseExamination {
        guard Store.exists(in: directory) else {
            throw CommandFailure("There is no database in \(directory) yet. Start bramley serve once.")
        }
        let lock = try RestoreLock.shared(directory)
        defer { extendLifetime(lock) }
        let source = Store.path(in: directory)
        try checkTarget(file, source: source, replacing: replacing)
        let copy = try StagedCopy(for: file)
        try CheckedCopy.copy(source, to: copy.path)
        let contents = try await CheckedCopy.examine(
            copy.path, clock: clock, orSay: "The copy is not valid and was deleted.")
        guard !Task.isCancelled else { throw CheckedCopy.interrupted }
        let now = clock.now()
        try copy.land(replacing: replacing)
        FileExamination.noteBackup(of: source, at: now)
        return contents
    }

    /// Checked first: targets that must not be overwritten, whatever the options.
    private static func checkTarget(_ file: String, source: String, replacing: Bool) throws(CommandFailure) {
        guard let stamp = FileStamp(of: file) else { return }
        guard FileStamp(of: source).map({ !$0.isOfSameFile(as: stamp) }) ?? true else {
            throw CommandFailure("\(file) is the database itself. Choose another file.")
        }
        guard replacing else { throw CommandFailure(StagedCopy.isThere(file)) }
        guard FileExamination.isDatabase(file) else {
            throw CommandFailure("\(file) is not a Bramley backup, so it is not replaced. Choose another name.")
        }
    }

    static let adviceForPostgres = """
        The database is in PostgreSQL. Use its own tools: pg_dump and pg_restore, or pg_basebackup with an archive of \
        the write-ahead log. Keep a copy of the sealing key separate from those backups.
        """
}
