internal import Crypto
internal import RelyingParty
internal import Storage

/// The two long steps of every backup and restore, as an operator sees them: each with a line of its own when it takes
/// longer than a second, and each ended by a signal.
enum CheckedCopy {
    static let interrupted = CommandFailure("Interrupted. Nothing was written.")

    /// Copies a database.
    /// - Throws: `CommandFailure` for every failure, an interruption among them.
    static func copy(_ source: String, to destination: String) throws(CommandFailure) {
        do {
            try copyShowingProgress(source, to: destination)
        } catch is CancellationError {
            throw interrupted
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Copies a database, with a bar.
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
    /// - Parameter prefix: what is said before the fault of a copy that is not good.
    /// - Throws: `CommandFailure` for every failure, an interruption among them.
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
