import Testing

@testable import Bramley

/// When memory is given back to the system: after a crowd, and once more for what is freed late.
@Suite struct MemoryReturnTests {
    private static let mebibyte = 1 << 20

    /// Loads, and after which of them it was time.
    @Test(arguments: [
        ("a crowd that has left", [0, 20, 40, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2], [7]),
        ("what is freed late", [40] + Array(repeating: 0, count: 60), [5, 30]),
        ("a few", [0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0], []),
        ("one that stays", [40, 39, 38, 37, 36, 36, 36, 36, 36, 36, 36], []),
        // Regression: beside connections that stay, memory never came back.
        ("one beside a load that stays", [20, 26, 20, 20, 20, 20, 20, 20], [6]),
        ("one that comes again at once", [40, 2, 2, 40, 2, 2, 40, 2, 2, 2], []),
        ("one that goes in two steps", [40, 10, 10, 10, 10, 10, 10, 1, 1, 1, 1, 1, 1], [5, 11]),
    ])
    func returnsMemoryAfterACrowd(name: String, loads: [Int], expected: [Int]) {
        var watch = MemoryReturn()
        var found: [Int] = []
        for (index, load) in loads.enumerated() {
            if watch.check(load: load * Self.mebibyte, peak: load * Self.mebibyte) { found.append(index) }
        }
        #expect(found == expected, "\(name)")
    }

    /// A crowd that came and went between two looks.
    @Test func peakBetweenTwoChecksCounts() {
        var watch = MemoryReturn()
        var found: [Bool] = []
        for peak in [30, 0, 0, 0, 0, 0] { found.append(watch.check(load: 0, peak: peak * Self.mebibyte)) }
        #expect(found == [false, false, false, false, true, false])
    }
}
