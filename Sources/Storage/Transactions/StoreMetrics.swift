package import Instruments

/// What the writer does, as it is measured.
package final class StoreMetrics: Sendable {
    /// From BEGIN to the end of COMMIT, of transactions that were committed.
    package let commits = Histogram(.seconds, bounds: HistogramBounds.work)
    /// Writes in one of them.
    package let batches = Histogram(.count, bounds: HistogramBounds.batches)
    /// Transactions that could not be begun or committed, or that SQLite ended: a full disk, an I/O error, a lock of
    /// another process.
    package let failures = Counter()
}
