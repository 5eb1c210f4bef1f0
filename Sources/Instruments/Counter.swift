import Synchronization

/// How often something happened since the process started. Any thread may count; nothing is allocated and nothing waits.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }

    package func increment(by amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
}

/// One counter for each value of an enumeration, or for each pair of two: as many as there are from the beginning, so no
/// peer can make them more.
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
