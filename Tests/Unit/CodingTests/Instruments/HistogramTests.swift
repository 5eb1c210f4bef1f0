import Coding
import Testing

struct HistogramTests {
    @Test(
        "A value belongs to the first bound that is not smaller",
        arguments: [
            (Int64(-5), 0), (0, 0), (9, 0), (10, 0), (11, 1), (20, 1), (21, 2), (30, 2), (31, 3), (.max, 3),
        ])
    func placesAtTheBounds(value: Int64, place: Int) {
        let histogram = Histogram(.count, bounds: [10, 20, 30])
        histogram.record(value)
        var expected = [0, 0, 0, 0]
        expected[place] = 1
        #expect(histogram.reading.counts == expected)
        #expect(histogram.reading.sum == max(0, value))
    }

    @Test func timeIsKeptInNanoseconds() {
        let histogram = Histogram(.seconds, bounds: HistogramBounds.work)
        histogram.record(since: ContinuousClock.now - .milliseconds(700))
        #expect(histogram.reading.counts[HistogramBounds.work.firstIndex(of: 500_000_000).map { $0 + 1 } ?? 0] == 1)
        #expect((700_000_000..<1_000_000_000).contains(histogram.reading.sum))
    }

    @Test func readingsAddUp() {
        let (one, other) = (Histogram(.count, bounds: [1, 2]), Histogram(.count, bounds: [1, 2]))
        one.record(1)
        other.record(2)
        other.record(9)
        var reading = one.reading
        reading.add(other.reading)
        #expect(reading.counts == [1, 1, 1])
        #expect(reading.sum == 12)
        #expect(reading.count == 3)
    }

    @Test func boundsAscend_AndBeyondTheMaximumAreIgnored() {
        for bounds in [HistogramBounds.work, HistogramBounds.calls, HistogramBounds.batches] {
            #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
            #expect(bounds.count <= Histogram.maximumBounds)
        }
        let histogram = Histogram(.count, bounds: Array(1...40))
        #expect(histogram.bounds.count == Histogram.maximumBounds)
        histogram.record(40)
        #expect(histogram.reading.counts.last == 1)
        #expect(histogram.reading.count == 1)
    }

    @Test func nothingIsLostWhenManyThreadsRecord() async {
        let histogram = Histogram(.count, bounds: [1, 2, 3])
        let counter = Counter()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<20_000 {
                        histogram.record(Int64((task + round) % 5))
                        counter.increment()
                    }
                }
            }
        }
        #expect(counter.value == 160_000)
        #expect(histogram.reading.count == 160_000)
        #expect(histogram.reading.counts == [64_000, 32_000, 32_000, 32_000])
        #expect(histogram.reading.sum == 320_000)
    }
}

struct CounterGridTests {
    private enum Row: CaseIterable { case one, two }
    private enum Column: CaseIterable { case left, right }

    @Test func eachPairHasItsOwnCounter() {
        let grid = CounterGrid<Row, Column>()
        grid.increment(.one, .right)
        grid.increment(.one, .right)
        grid.increment(.two, .left)
        #expect(grid[.one, .right] == 2)
        #expect(grid[.two, .left] == 1)
        #expect(grid[.one, .left] == 0)
    }
}
