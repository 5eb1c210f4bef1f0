import Synchronization

/// Counts events since the process started. Safe from any thread, without allocating or waiting.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }

    package func increment(by amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
}

/// One counter for each value of an enumeration, or for each pair of two. All exist from the start, so no peer can add
/// any.
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
