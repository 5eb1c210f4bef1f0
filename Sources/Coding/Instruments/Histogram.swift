import Synchronization

/// The distribution of values since the process started: how many were at most each bound, and their sum.
///
/// Recording is two relaxed additions and a search through the bounds: safe from any thread, without allocating or
/// waiting. Where every request records a value, each loop has its own histogram, so that no two processors write to
/// one cache line; readers add them up.
package final class Histogram: Sendable {
    /// The unit of the values, kept as whole numbers and shown in base units.
    package enum Unit: Sendable {
        /// Kept in nanoseconds, shown in seconds.
        case seconds
        case count
    }

    /// The most bounds of a histogram; one more slot holds larger values.
    package static let maximumBounds = 19

    /// Ascending, in nanoseconds for `.seconds`.
    package let bounds: [Int64]
    package let unit: Unit
    private let counts: InlineArray<20, Atomic<Int>>
    private let sum = Atomic<Int64>(0)

    /// - Parameter bounds: ascending; those beyond `maximumBounds` are ignored.
    package init(_ unit: Unit, bounds: [Int64]) {
        self.unit = unit
        self.bounds = Array(bounds.prefix(Self.maximumBounds))
        counts = InlineArray { _ in Atomic<Int>(0) }
    }

    /// - Parameter value: negative values, from a clock that went back, are recorded as 0.
    package func record(_ value: Int64) {
        var slot = 0
        while slot < bounds.count, value > bounds[slot] { slot &+= 1 }
        counts[slot].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(max(0, value), ordering: .relaxed)
    }

    /// Records the time since `start` in a histogram of `.seconds`.
    package func record(since start: ContinuousClock.Instant) {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        record(seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }

    /// What was recorded so far. Values recorded concurrently may be in a count and not yet in the sum.
    package var reading: HistogramReading {
        var reading = HistogramReading(unit: unit, bounds: bounds)
        for slot in 0...bounds.count { reading.counts[slot] = counts[slot].load(ordering: .relaxed) }
        reading.sum = sum.load(ordering: .relaxed)
        return reading
    }
}

package struct HistogramReading: Hashable, Sendable {
    package let unit: Histogram.Unit
    package let bounds: [Int64]
    /// One count per bound, not cumulative, and one for larger values.
    package var counts: [Int]
    package var sum: Int64 = 0

    package init(unit: Histogram.Unit, bounds: [Int64]) {
        self.unit = unit
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var count: Int { counts.reduce(0, +) }

    /// Adds the reading of another histogram with the same bounds.
    package mutating func add(_ other: HistogramReading) {
        for (slot, count) in other.counts.prefix(counts.count).enumerated() { counts[slot] += count }
        sum += other.sum
    }
}

/// Bounds shared by several histograms.
package enum HistogramBounds {
    /// Local work: from 100 µs to 10 s, in nanoseconds.
    package static let work: [Int64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]
    /// Network calls: from 10 ms to 10 s, in nanoseconds.
    package static let calls: [Int64] = [
        10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        5_000_000_000, 10_000_000_000,
    ]
    /// Batch sizes: 1, 2, 4, … 256.
    package static let batches: [Int64] = [1, 2, 4, 8, 16, 32, 64, 128, 256]
}

/// Counts events since the process started. Safe from any thread, without allocating or waiting.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }

    package func increment() { count.wrappingAdd(1, ordering: .relaxed) }
}

/// One counter for each pair of values of two enumerations, all from the start: no peer can add any.
package struct CounterGrid<
    Row: CaseIterable & Hashable & Sendable, Column: CaseIterable & Hashable & Sendable
>: Sendable {
    private let counters: [Row: [Column: Counter]]

    package init() {
        counters = Dictionary(
            uniqueKeysWithValues: Row.allCases.map { row in
                (row, Dictionary(uniqueKeysWithValues: Column.allCases.map { ($0, Counter()) }))
            })
    }

    package func increment(_ row: Row, _ column: Column) { counters[row]?[column]?.increment() }

    package subscript(row: Row, column: Column) -> Int { counters[row]?[column]?.value ?? 0 }
}
