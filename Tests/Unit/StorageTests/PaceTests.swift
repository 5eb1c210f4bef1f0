import Testing

@testable import Accounts
@testable import Storage

@Suite struct PaceTests {
    @Test(
        "a slow step halves the next, a fast one enlarges it, within the range",
        arguments: [Pace.rows, .logPages])
    func adapts(pace: Pace) {
        var pace = pace
        let first = pace.limit
        pace.adapt(to: .milliseconds(15))
        #expect(pace.limit == first)
        pace.adapt(to: .milliseconds(31))
        #expect(pace.limit == first / 2)
        for _ in 0..<20 { pace.adapt(to: .seconds(1)) }
        let least = pace.limit
        #expect(least > 0 && least < first / 2)
        for _ in 0..<40 { pace.adapt(to: .milliseconds(1)) }
        let most = pace.limit
        #expect(most > first)
        pace.adapt(to: .milliseconds(1))
        #expect(pace.limit == most)
    }
}
