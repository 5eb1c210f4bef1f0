import Testing

@testable import Web

@Suite struct FailureLinesTests {
    @Test func soManyAtOnceForEachReasonAndThenTheNumberOfTheOthers() {
        let lines = FailureLines()
        let start = ContinuousClock.now
        for _ in 0..<FailureLines.burst { #expect(lines.take("storage", at: start) == 0) }
        for _ in 0..<25 { #expect(lines.take("storage", at: start.advanced(by: .milliseconds(99))) == nil) }
        // Another reason has its own.
        #expect(lines.take("clock", at: start) == 0)
        let next = start.advanced(by: .seconds(1))
        #expect(lines.take("storage", at: next) == 25)
        for _ in 1..<FailureLines.rate { #expect(lines.take("storage", at: next) == 0) }
        #expect(lines.take("storage", at: next) == nil)
    }

    @Test func aFailureThatLastsHasSoManyASecond() {
        let lines = FailureLines()
        let start = ContinuousClock.now
        var written = 0
        var told = 0
        for millisecond in 0..<60_000 {
            let moment = start.advanced(by: .milliseconds(millisecond))
            guard let unlogged = lines.take("storage", at: moment) else { continue }
            written += 1
            told += unlogged
        }
        #expect(abs(written - FailureLines.burst - 60 * FailureLines.rate) <= 1)
        #expect(written + told <= 60_000 && written + told > 59_800, "each is written or counted")
        // After a rest, as at the beginning; never more.
        let later = start.advanced(by: .seconds(3_600))
        #expect((0..<1_000).count { _ in lines.take("storage", at: later) != nil } == FailureLines.burst)
    }
}
