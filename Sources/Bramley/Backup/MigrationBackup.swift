internal import Accounts
import Coding
internal import Crypto
internal import FoundationEssentials
internal import Logging
internal import Sockets
internal import Storage

// A backup next to the database, made and verified before this version changes its schema.
extension ServerParts {
    private static let keptBackups = 2
    /// The additional space that a start needs, in bytes.
    private static let reserve = 8 << 20

    /// - Throws: when it cannot be made; then nothing is changed, and the server does not start.
    static func backUpBeforeMigration(_ options: StoreOptions, keyring: SealingKeyring, runtime: Runtime) throws {
        guard let pending = try Store.pendingStep(options, steps: Schema.steps, keyring: keyring) else { return }
        let source = Store.path(in: options.directory)
        // For the copy, and for rebuilt tables: first in the log, then in the file.
        try checkRoom(for: 3 * pending.bytes, in: options.directory)
        let target = source + ".before-" + pending.name
        runtime.logger.notice(
            "backing up the database before a schema change; this can take minutes",
            metadata: ["file": "\(target)", "step": "\(pending.name)", "bytes": .stringConvertible(pending.bytes)])
        do {
            let copy = try StagedCopy(for: target)
            try CheckedCopy.copy(source, to: copy.path)
            _ = try DatabaseExamination.examine(copy.path, at: runtime.clock.now())
            // A file with that name is from a start that ended before it changed anything.
            try copy.land(replacing: true)
        } catch {
            throw CommandFailure("The backup before the schema change failed: \(error) Nothing was changed.")
        }
        runtime.logger.notice(
            "database backed up before the schema change", metadata: ["file": "\(target)", "step": "\(pending.name)"])
        removeOldBackups(in: options.directory, runtime.logger)
    }

    private static func checkRoom(for bytes: Int, in directory: String) throws(CommandFailure) {
        // Absent where the file system does not report it.
        let size = try? FileManager.default.attributesOfFileSystem(forPath: directory)[.systemFreeSize]
        guard let free = GuardedFile.integer(size), free < bytes + reserve else { return }
        throw CommandFailure(
            """
            There is not enough space for the backup before the schema change: \(Quantity.bytes(bytes + reserve)) \
            needed in \(directory), \(Quantity.bytes(free)) free. Free some space and start again. Nothing was changed.
            """)
    }

    /// Keeps the newest: the steps' names begin with their numbers.
    private static func removeOldBackups(in directory: String, _ logger: Logger) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let old = names.filter { isBackup($0) }.sorted().dropLast(keptBackups)
        for name in old {
            do throws(SystemError) {
                try Files.remove(directory + "/" + name)
            } catch {
                logger.warning(
                    "old backup not removed", metadata: ["file": "\(directory)/\(name)", "cause": "\(error)"])
            }
        }
    }

    /// `bramley.db.before-0013-links`: the four digits distinguish it from copies that `bramley restore` keeps.
    private static func isBackup(_ name: String) -> Bool {
        let prefix = "bramley.db.before-"
        let number = name.dropFirst(prefix.count).prefix(5)
        return name.hasPrefix(prefix) && !name.hasSuffix(".unfinished") && number.count == 5 && number.last == "-"
            && number.dropLast().allSatisfy { ("0"..."9").contains($0) }
    }
}
