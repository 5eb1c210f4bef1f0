internal import Accounts
import Coding
internal import Crypto
internal import Storage

/// The two long steps of every backup and restore, with a progress line when they take longer than a second; a signal
/// ends them.
enum CheckedCopy {
    static let interrupted = CommandFailure("Interrupted. Nothing was written.")

    /// Copies a database.
    /// - Throws: `CommandFailure` for every failure, including an interruption.
    static func copy(_ source: String, to destination: String) throws(CommandFailure) {
        do {
            try copyShowingProgress(source, to: destination)
        } catch is CancellationError {
            throw interrupted
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Copies a database, with a progress bar.
    /// - Throws: `CancellationError` when the task is cancelled, and what `DatabaseCopy.write` throws.
    static func copyShowingProgress(_ source: String, to destination: String) throws {
        var bar: ProgressLine?
        defer { bar?.clear() }
        try DatabaseCopy.write(source, to: destination) { progress in
            try Task.checkCancellation()
            if bar == nil { bar = ProgressLine(total: progress.total, unit: "pages") }
            bar?.update(count: progress.pages, done: progress.pages)
        }
    }

    /// Reads a copy from its first page to its last.
    /// - Parameter prefix: written before the fault of a bad copy.
    /// - Throws: `CommandFailure` for every failure, including an interruption.
    static func examine(
        _ path: String, keyring: SealingKeyring? = nil, origin: DatabaseOrigin? = nil, clock: any WallClock,
        orSay prefix: String
    ) async throws(CommandFailure) -> DatabaseExamination {
        do {
            return try await ProgressLine.during("reading the copy back") {
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
