internal import Accounts
import Coding
internal import Crypto
internal import Sockets
internal import Storage

/// A copy of a database on the way to its name: made next to it, readable by nobody else, and renamed when complete.
/// The next process reuses what a killed one left.
final class StagedCopy {
    let path: String
    private let target: String
    private let lock: FileLock
    private var hasLanded = false

    init(for target: String) throws(CommandFailure) {
        self.target = target
        path = target + ".unfinished"
        do {
            lock = try Self.lock(path, target)
            for file in Self.companions(of: path) { try Files.remove(file) }
            try lock.empty()
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as SystemError where error.isHeldByAnother {
            throw CommandFailure(Self.busy(target))
        } catch let error as SystemError where error.isOfLink || error.isOfOthers {
            throw CommandFailure(
                "\(path) is \(error.isOfLink ? "a symbolic link" : "accessible to another user"), so somebody might read "
                    + "or replace what is written there. Remove it, and find out who put it there.")
        } catch {
            throw CommandFailure("\(target) cannot be written: \(error).")
        }
    }

    private static func lock(_ path: String, _ target: String) throws -> FileLock {
        var lock = try FileLock(path: path, isPrivate: true)
        if try lock.hasOtherNames() {
            // A process that was killed while renaming left this one too: the finished copy is not ours to empty.
            try Files.remove(path)
            lock = try FileLock(path: path, isPrivate: true)
        }
        guard try lock.isStill(at: path) else { throw CommandFailure(busy(target)) }
        return lock
    }

    deinit {
        guard !hasLanded else { return }
        // The lock is held until all are removed: the next process's file is not among them.
        for file in Self.companions(of: path) + [path] { try? Files.remove(file) }
    }

    func land(replacing: Bool) throws(CommandFailure) {
        var isOurs = false
        do throws(SystemError) {
            isOurs = try lock.isStill(at: path)
            if isOurs { try Files.publish(path, at: target, replacing: replacing) }
        } catch {
            throw CommandFailure(error.isAlreadyThere ? Self.isThere(target) : "\(target) cannot be written: \(error).")
        }
        guard isOurs else {
            throw CommandFailure("\(path) was replaced while it was being written, so \(target) was not created.")
        }
        hasLanded = true
    }

    static func isThere(_ path: String) -> String {
        "\(path) already exists. Choose another name, or pass --force to replace it."
    }

    static func companions(of path: String) -> [String] { ["-wal", "-shm", "-journal"].map { path + $0 } }

    private static func busy(_ target: String) -> String {
        "Another process is writing \(target). Wait until it finishes."
    }
}

/// The two long steps of every backup and restore, which a signal ends. Every failure is a `CommandFailure`.
enum CheckedCopy {
    static let interrupted = CommandFailure("Interrupted. Nothing was written.")

    static func copy(_ source: String, to destination: String) throws(CommandFailure) {
        var bar: ProgressLine?
        defer { bar?.clear() }
        do {
            try DatabaseCopy.write(source, to: destination) { progress in
                try Task.checkCancellation()
                if bar == nil { bar = ProgressLine(total: progress.total, unit: "pages") }
                bar?.update(count: progress.pages, done: progress.pages)
            }
        } catch is CancellationError {
            throw interrupted
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    static func examine(
        _ path: String, keyring: SealingKeyring? = nil, origin: DatabaseOrigin? = nil, clock: any WallClock,
        orSay prefix: String
    ) async throws(CommandFailure) -> DatabaseExamination {
        do {
            return try await ProgressLine.during("verifying the copy") {
                try await DatabaseExamination.examineUntilCancelled(
                    path, keyring: keyring, origin: origin, at: clock.now())
            }
        } catch is CancellationError {
            throw interrupted
        } catch {
            throw CommandFailure("\(prefix) \(error)")
        }
    }
}
