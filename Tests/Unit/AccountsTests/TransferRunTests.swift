import Storage
import Synchronization
import Testing

@testable import Accounts

/// How a transfer asks Apple: every answer kept, none twice, patience where it helps, and an end where it does not.
@Suite struct TransferRunTests {
    /// People 1 to `count`, and an Apple with set answers.
    final class Step: TransferStep {
        struct State {
            var kept: [Int64: String] = [:]
            var writes = 0
            var asked: [Int64] = []
            var running = 0
            var mostRunning = 0
        }

        let count: Int64
        let isProvenBefore: Bool
        let preparations: Mutex<[MigrationFailure]>
        let state = Mutex(State())
        /// Of the n-th request about a person, n from 1.
        let answer: @Sendable (_ person: Int64, _ attempt: Int) -> Result<String, MigrationFailure>

        init(
            _ count: Int64, isProven: Bool = false, preparations: [MigrationFailure] = [],
            answer: @escaping @Sendable (Int64, Int) -> Result<String, MigrationFailure>
        ) {
            self.count = count
            isProvenBefore = isProven
            self.preparations = Mutex(preparations)
            self.answer = answer
        }

        func isProven() async throws(Failure) -> Bool { isProvenBefore }

        func prepare() async throws(MigrationFailure) {
            let failure = preparations.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let failure { throw failure }
        }

        func people(after last: Int64?, limit: Int) async throws(Failure) -> [Int64] {
            let kept = state.withLock { $0.kept }
            let last = last ?? 0
            guard last < count else { return [] }
            return Array((last + 1...count).filter { kept[$0] == nil }.prefix(limit))
        }

        func ask(_ person: Int64) async throws(MigrationFailure) -> String {
            let attempt = state.withLock { state in
                state.asked.append(person)
                state.running += 1
                state.mostRunning = max(state.mostRunning, state.running)
                return state.asked.count { $0 == person }
            }
            for _ in 0..<5 { await Task.yield() }
            state.withLock { $0.running -= 1 }
            return try answer(person, attempt).get()
        }

        func keep(_ answers: [TransferAnswer<Int64, String>]) async throws(Failure) {
            state.withLock { state in
                if !answers.isEmpty { state.writes += 1 }
                for answer in answers {
                    switch answer.outcome {
                    case .value(let text): state.kept[answer.person] = text
                    case .refused(let text): state.kept[answer.person] = "refused: " + text
                    }
                }
            }
        }
    }

    private func run(
        _ step: Step, rate: Int = 100, stopAfter waits: Int = .max
    ) async throws -> (TransferEnd, waits: [Int64]) {
        let waited = Mutex<[Int64]>([])
        let run = TransferRun(step, pace: TransferPace(rate: rate)) { milliseconds in
            waited.withLock { list in
                list.append(milliseconds)
                return list.count <= waits
            }
        }
        let end = try await run.run()
        return (end, waited.withLock { $0 })
    }

    @Test func everybodyIsAskedAboutOnce() async throws {
        let step = Step(47) { person, _ in
            person % 10 == 0 ? .failure(.personRefused("invalid_request")) : .success("t\(person)")
        }
        let (end, waits) = try await run(step, rate: 20)
        #expect(end == .complete)
        let state = step.state.withLock { $0 }
        #expect(state.asked.sorted() == Array(1...47))
        #expect(state.kept.count == 47 && state.kept[10] == "refused: invalid_request" && state.kept[47] == "t47")
        #expect(state.mostRunning <= 4)
        #expect(waits == Array(repeating: 50, count: 47), "twenty a second")
        #expect(state.writes >= 3)
    }

    @Test func retryAfterIsHonoured() async throws {
        let step = Step(3) { person, attempt in
            guard person == 2 else { return .success("t") }
            return switch attempt {
            case 1: .failure(.unavailable("status 429", retryAfter: 7))
            case 2: .failure(.unavailable("timeout"))
            case 3: .failure(.unavailable("status 503", retryAfter: 86_400))
            default: .success("t")
            }
        }
        let (end, waits) = try await run(step)
        #expect(end == .complete)
        #expect(
            waits.filter { $0 >= 1000 } == [7000, 2000, 600_000],
            "at least what Apple asks for, and ten minutes at most")
        #expect(step.state.withLock { $0.kept.count } == 3)
    }

    @Test func unavailableAppleEndsTheRunAfterTheLastPause() async throws {
        let step = Step(30) { person, _ in person < 25 ? .success("t") : .failure(.unavailable("status 500")) }
        let (end, waits) = try await run(step)
        #expect(end == .unavailable("status 500"))
        #expect(waits.filter { $0 >= 1000 }.suffix(8) == [1000, 2000, 5000, 15_000, 30_000, 60_000, 120_000, 300_000])
        #expect(step.state.withLock { $0.kept.count } == 24)
    }

    @Test func refusalOfUsEndsIt() async throws {
        let step = Step(30) { person, _ in person == 5 ? .failure(.clientRefused("invalid_client")) : .success("t") }
        #expect(try await run(step).0 == .clientRefused("invalid_client"))
        let state = step.state.withLock { $0 }
        // Those before it, and whoever was under way or came before the refusal was heard; not everybody.
        #expect(state.kept.count >= 4 && state.asked.count < 30 && state.kept[5] == nil)
        #expect(Set(state.asked).count == state.asked.count)
        #expect(Set(state.asked) == Set(state.kept.keys).union([5]), "what was answered is kept")
    }

    @Test(
        arguments: [
            ([MigrationFailure.clientRefused("invalid_client")], TransferEnd.clientRefused("invalid_client")),
            ([.personRefused("invalid_request")], .clientRefused("invalid_request")),
            ([.unavailable("timeout"), .unavailable("status 502")], .complete),
            (Array(repeating: .unavailable("timeout"), count: 9), .unavailable("timeout")),
        ] as [([MigrationFailure], TransferEnd)])
    func preparation(_ failures: [MigrationFailure], _ expected: TransferEnd) async throws {
        let step = Step(2, preparations: failures) { _, _ in .success("t") }
        #expect(try await run(step).0 == expected)
        #expect(step.state.withLock { $0.asked.isEmpty } == (expected != .complete))
    }

    @Test("however few they are", arguments: [1, 2, 19, 20, 45, 199, 200, 245] as [Int64])
    func whenEveryoneIsRefusedNothingIsKept(_ count: Int64) async throws {
        let refused = Step(count) { _, _ in .failure(.personRefused("invalid_request")) }
        let (end, _) = try await run(refused)
        #expect(end == .everyoneRefused("invalid_request"))
        #expect(refused.state.withLock { $0.kept.isEmpty && $0.writes == 0 })
        #expect(refused.state.withLock { $0.asked.count } == Int(min(count, 200)))

        let proven = Step(count, isProven: true) { _, _ in .failure(.personRefused("invalid_request")) }
        #expect(try await run(proven).0 == .complete)
        #expect(proven.state.withLock { $0.kept.count } == Int(count))

        let oneGood = Step(count) { person, _ in
            person == min(count, 199) ? .success("t") : .failure(.personRefused("invalid_request"))
        }
        #expect(try await run(oneGood).0 == .complete)
        #expect(oneGood.state.withLock { $0.kept.count } == Int(count))
    }

    @Test func withoutPeopleNothingIsRefused() async throws {
        let step = Step(0) { _, _ in .failure(.personRefused("invalid_request")) }
        #expect(try await run(step).0 == .complete)
    }
}
