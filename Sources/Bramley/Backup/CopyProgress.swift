internal import Storage

/// The bar of a copy that takes longer than a second, and its end by a signal.
struct CopyProgress {
    private static let patience = Duration.seconds(1)

    private let startedAt = ContinuousClock.now
    private var bar: ImportProgress?

    /// - Throws: `CancellationError` when the task is cancelled.
    mutating func update(_ progress: DatabaseCopy.Progress) throws {
        try Task.checkCancellation()
        guard ContinuousClock.now - startedAt >= Self.patience else { return }
        if bar == nil { bar = ImportProgress(total: progress.total, unit: "pages") }
        bar?.update(lines: progress.pages, bytes: progress.pages)
    }

    mutating func clear() { bar?.clear() }

    /// Copies a database, with a bar.
    /// - Throws: `CommandFailure` for every failure, an interruption among them.
    static func copy(_ source: String, to destination: String) throws(CommandFailure) {
        var bar = CopyProgress()
        defer { bar.clear() }
        do {
            try DatabaseCopy.write(source, to: destination) { try bar.update($0) }
        } catch is CancellationError {
            throw CommandFailure("Interrupted. Nothing was written.")
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}
