package import Coding

/// Measurements of the writer.
package final class StoreMetrics: Sendable {
    /// From BEGIN to the end of COMMIT, for committed transactions.
    package let commits = Histogram(.seconds, bounds: HistogramBounds.work)
    /// Writes per committed transaction.
    package let batches = Histogram(.count, bounds: HistogramBounds.batches)
    /// Transactions that could not be begun or committed, or that SQLite ended: a full disk, an I/O error, another
    /// process's lock.
    package let failures = Counter()
}
