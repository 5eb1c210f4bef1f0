import Testing

@testable import Web

@Suite struct FailureLinesTests {
    @Test func soManyASecondForEachReasonAndThenTheNumberOfTheOthers() {
        let lines = FailureLines()
        let start = ContinuousClock.now
        for _ in 0..<FailureLines.rate { #expect(lines.take("storage", at: start) == 0) }
        for _ in 0..<25 { #expect(lines.take("storage", at: start.advanced(by: .milliseconds(999))) == nil) }
        // Another reason has its own.
        #expect(lines.take("clock", at: start) == 0)
        let next = start.advanced(by: .seconds(1))
        #expect(lines.take("storage", at: next) == 25)
        for _ in 1..<FailureLines.rate { #expect(lines.take("storage", at: next) == 0) }
        #expect(lines.take("storage", at: next) == nil)
    }
}
