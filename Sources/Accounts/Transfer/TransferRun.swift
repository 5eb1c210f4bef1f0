import Coding
import Storage

/// How fast Apple is asked, and how long to keep trying. Apple documents no limit for its migration endpoint.
package struct TransferPace: Sendable {
    /// Requests begun per second.
    package var rate: Int
    package var concurrency = 4
    /// Pauses in seconds while Apple does not answer; after the last one, the run ends.
    package var pauses: [Int64] = [1, 2, 5, 15, 30, 60, 120, 300]

    /// The longest `Retry-After` that is honoured, in seconds.
    package static let longestPause: Int64 = 600
    /// People asked about between two writes.
    package static let batch = 20
    /// Refusals without an acceptance after which the run ends: a site's first visitors may all have left.
    package static let refusalsInARow = 200

    package init(rate: Int) { self.rate = rate }

    /// Milliseconds between two requests.
    var interval: Int64 { max(1, 1000 / Int64(max(1, rate))) }
}

package protocol TransferStep: Sendable {
    associatedtype Person: Sendable
    associatedtype Value: Sendable

    /// Whether Apple has ever accepted anyone; then refusals concern people, not our configuration.
    func isProven() async throws(Failure) -> Bool
    func prepare() async throws(MigrationFailure)
    /// - Parameter last: the last person of the previous batch; nil begins at the first.
    func people(after last: Person?, limit: Int) async throws(Failure) -> [Person]
    func ask(_ person: Person) async throws(MigrationFailure) -> Value
    /// Durably stores answers.
    func keep(_ answers: [TransferAnswer<Person, Value>]) async throws(Failure)
}

package enum TransferEnd: Hashable, Sendable {
    case complete
    /// Interrupted by the operator.
    case interrupted
    case clientRefused(String)
    /// Apple did not answer for a long time.
    case unavailable(String)
    /// Apple has never accepted anyone, and refused everyone in this run. Nothing was stored.
    case everyoneRefused(String)
}

/// Asks Apple about one person after another, and stores each answer. After an early end, the next run continues there.
package struct TransferRun<Step: TransferStep>: Sendable {
    private typealias Answer = TransferAnswer<Step.Person, Step.Value>

    private let step: Step
    private let pace: TransferPace
    private let wait: @Sendable (Int64) async -> Bool

    /// - Parameter wait: sleeps for milliseconds; false when the run must end.
    package init(_ step: Step, pace: TransferPace, wait: @escaping @Sendable (_ milliseconds: Int64) async -> Bool) {
        self.step = step
        self.pace = pace
        self.wait = wait
    }

    /// - Parameter progress: called after each write with the number of people asked about.
    package func run(progress: (Int) -> Void = { _ in }) async throws(Failure) -> TransferEnd {
        if let failure = await preparation() { return failure }
        var ledger = Ledger(isProven: try await step.isProven())
        var last: Step.Person?
        while true {
            let people = try await step.people(after: last, limit: TransferPace.batch)
            guard !people.isEmpty else { return ledger.refusal.map { .everyoneRefused($0) } ?? .complete }
            if let end = try await settle(people, &ledger, progress) { return end }
            last = people.last
        }
    }

    /// Returns nil when everyone in a batch has an answer.
    private func settle(
        _ people: [Step.Person], _ ledger: inout Ledger, _ progress: (Int) -> Void
    ) async throws(Failure) -> TransferEnd? {
        var open = people
        var failures = 0
        while !open.isEmpty {
            let round = await ask(open)
            let kept = ledger.record(round.answers)
            if !kept.isEmpty { try await step.keep(kept) }
            progress(ledger.asked)
            if ledger.isHopeless, let reason = ledger.refusal { return .everyoneRefused(reason) }
            if let text = round.clientRefusal { return .clientRefused(text) }
            if round.isInterrupted { return .interrupted }
            open = round.unanswered
            guard let (text, retryAfter) = round.failure else { continue }
            failures = round.answers.isEmpty ? failures + 1 : 1
            guard failures <= pace.pauses.count else { return .unavailable(text) }
            guard await pause(failures, retryAfter) else { return .interrupted }
        }
        return nil
    }

    /// - Parameter failures: so far, at least one.
    private func pause(_ failures: Int, _ retryAfter: Int64?) async -> Bool {
        await wait(max(pace.pauses[failures - 1], min(retryAfter ?? 0, TransferPace.longestPause)) * 1000)
    }

    private func preparation() async -> TransferEnd? {
        var failures = 0
        while true {
            do throws(MigrationFailure) {
                try await step.prepare()
                return nil
            } catch {
                switch error {
                case .personRefused(let text), .clientRefused(let text): return .clientRefused(text)
                case .unavailable(let text, let retryAfter):
                    guard failures < pace.pauses.count else { return .unavailable(text) }
                    failures += 1
                    guard await pause(failures, retryAfter) else { return .interrupted }
                }
            }
        }
    }

    // MARK: One round

    private struct Round: Sendable {
        var answers: [Answer] = []
        var unanswered: [Step.Person] = []
        var failure: (text: String, retryAfter: Int64?)?
        var clientRefusal: String?
        var isInterrupted = false

        /// No request begins once Apple asks us to wait or refuses us, or the operator interrupts.
        var goesOn: Bool { failure == nil && clientRefusal == nil && !isInterrupted }

        mutating func record(_ person: Step.Person, _ result: Result<Step.Value, MigrationFailure>) {
            switch result {
            case .success(let value): answers.append(Answer(person: person, outcome: .value(value)))
            case .failure(.personRefused(let text)):
                answers.append(Answer(person: person, outcome: .refused(text)))
            case .failure(.clientRefused(let text)):
                clientRefusal = text
                unanswered.append(person)
            case .failure(.unavailable(let text, let retryAfter)):
                failure = (text, max(retryAfter ?? 0, failure?.retryAfter ?? 0))
                unanswered.append(person)
            }
        }
    }

    /// Asks about each once, a few at a time, at the configured pace.
    private func ask(_ people: [Step.Person]) async -> Round {
        let step = step
        return await withTaskGroup(of: (Step.Person, Result<Step.Value, MigrationFailure>).self) { group in
            var round = Round()
            var waiting = people[...]
            var running = 0
            while true {
                while running < pace.concurrency, round.goesOn, let person = waiting.first {
                    guard await wait(pace.interval) else {
                        round.isInterrupted = true
                        break
                    }
                    waiting.removeFirst()
                    running += 1
                    group.addTask {
                        (person, await Result { () async throws(MigrationFailure) in try await step.ask(person) })
                    }
                }
                guard let (person, result) = await group.next() else { break }
                running -= 1
                round.record(person, result)
            }
            round.unanswered += waiting
            return round
        }
    }

    /// Answers, and refusals held back until one acceptance shows that they concern people.
    private struct Ledger {
        var isProven: Bool
        var asked = 0
        var held: [Answer] = []

        /// - Returns: what may be stored now.
        mutating func record(_ answers: [Answer]) -> [Answer] {
            asked += answers.count
            if isProven { return answers }
            held += answers
            isProven = answers.contains { if case .value = $0.outcome { true } else { false } }
            guard isProven else { return [] }
            defer { held = [] }
            return held
        }

        var isHopeless: Bool { held.count >= TransferPace.refusalsInARow }

        /// Why the held-back people were refused. They may all have left, or we are misconfigured, so it is not stored.
        var refusal: String? {
            guard case .refused(let reason) = held.first?.outcome else { return nil }
            return reason
        }
    }
}
