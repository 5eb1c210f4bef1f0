/// How fast Apple is asked, and how patiently. Apple names no limit for its migration endpoint.
package struct TransferPace: Sendable {
    /// Requests begun in a second.
    package var rate: Int
    /// Requests under way at once.
    package var concurrency = 4
    /// Pauses in seconds while Apple does not answer; when they are used up, the run ends.
    package var pauses: [Int64] = [1, 2, 5, 15, 30, 60, 120, 300]

    /// The longest `Retry-After` that is waited for, in seconds.
    package static let longestPause: Int64 = 600
    /// People asked about between two writes.
    package static let batch = 20
    /// With nobody accepted yet and so many refused, nobody else is asked about. More than the testers and first visitors
    /// of a site who may all have left again: the next run begins with the same ones.
    package static let refusalsInARow = 200

    package init(rate: Int) { self.rate = rate }

    /// Milliseconds between two requests.
    var interval: Int64 { max(1, 1000 / Int64(max(1, rate))) }
}

/// One direction of a transfer.
package protocol TransferStep: Sendable {
    associatedtype Person: Sendable
    associatedtype Value: Sendable

    /// Whether Apple has ever answered as hoped: then refusals are about people, not about us.
    func isProven() async throws(StoreError) -> Bool
    func prepare() async throws(MigrationFailure)
    /// - Parameter last: of the people before; nil begins.
    func people(after last: Person?, limit: Int) async throws(StoreError) -> [Person]
    func ask(_ person: Person) async throws(MigrationFailure) -> Value
    /// Keeps answers, durably.
    func keep(_ answers: [TransferAnswer<Person, Value>]) async throws(StoreError)
}

/// How a run ended.
package enum TransferEnd: Hashable, Sendable {
    case complete
    /// By the operator.
    case interrupted
    /// Apple refuses us.
    case clientRefused(String)
    /// Apple did not answer for a long time.
    case unavailable(String)
    /// Apple has never accepted anybody, and refused everybody it was asked about, however few: nothing was kept of that.
    case everyoneRefused(String)
}

/// Asks Apple about one person after the other, keeps each answer, and ends when there is nobody left. Whatever ends it
/// earlier, what Apple answered is kept, and the next run goes on behind it.
package struct TransferRun<Step: TransferStep>: Sendable {
    private typealias Answer = TransferAnswer<Step.Person, Step.Value>

    private let step: Step
    private let pace: TransferPace
    private let wait: @Sendable (Int64) async -> Bool

    /// - Parameter wait: sleeps for milliseconds; false when the run is to end.
    package init(_ step: Step, pace: TransferPace, wait: @escaping @Sendable (_ milliseconds: Int64) async -> Bool) {
        self.step = step
        self.pace = pace
        self.wait = wait
    }

    /// - Parameter progress: told after each write how many were asked about.
    package func run(progress: (Int) -> Void = { _ in }) async throws(StoreError) -> TransferEnd {
        if let failure = await preparation() { return failure }
        var ledger = Ledger(isProven: try await step.isProven())
        var last: Step.Person?
        while true {
            let people = try await step.people(after: last, limit: TransferPace.batch)
            guard !people.isEmpty else {
                return ledger.refusal.map { .everyoneRefused($0) } ?? .complete
            }
            if let end = try await settle(people, &ledger, progress) { return end }
            last = people.last
        }
    }

    /// Asks until everyone of a batch has an answer; nil then.
    private func settle(
        _ people: [Step.Person], _ ledger: inout Ledger, _ progress: (Int) -> Void
    ) async throws(StoreError) -> TransferEnd? {
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
            let pause = max(pace.pauses[failures - 1], min(retryAfter ?? 0, TransferPace.longestPause))
            guard await wait(pause * 1000) else { return .interrupted }
        }
        return nil
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
                    let pause = max(pace.pauses[failures], min(retryAfter ?? 0, TransferPace.longestPause))
                    failures += 1
                    guard await wait(pause * 1000) else { return .interrupted }
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

        /// Nothing is begun once Apple asks for patience or refuses us, or the operator interrupts.
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

    /// Asks about each once, a few at a time, and as often in a second as the pace allows.
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
                        do throws(MigrationFailure) {
                            return (person, .success(try await step.ask(person)))
                        } catch {
                            return (person, .failure(error))
                        }
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

    /// What was answered, and the refusals that are held back until one answer shows that they are about people.
    private struct Ledger {
        var isProven: Bool
        var asked = 0
        private var held: [Answer] = []

        init(isProven: Bool) { self.isProven = isProven }

        /// - Returns: what may be kept now.
        mutating func record(_ answers: [Answer]) -> [Answer] {
            asked += answers.count
            if isProven { return answers }
            held += answers
            isProven = answers.contains { if case .value = $0.outcome { true } else { false } }
            return isProven ? release() : []
        }

        private mutating func release() -> [Answer] {
            defer { held = [] }
            return held
        }

        var isHopeless: Bool { held.count >= TransferPace.refusalsInARow }

        /// Why those whose answers are held back were refused. They may all have left, or we are wrong: Apple has one word
        /// for both, so nobody is marked by it.
        var refusal: String? {
            guard case .refused(let reason) = held.first?.outcome else { return nil }
            return reason
        }
    }
}
