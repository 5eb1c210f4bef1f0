package import Accounts
package import Coding
import HTTP
import Synchronization

/// What the page shows about this installation; the executable provides it.
package final class OperatorConsole: Sendable {
    /// One finding of `bramley doctor`.
    package typealias Finding = (check: String, tone: OperatorTone, detail: String, nextStep: String?)
    /// What doctor found, when, and since when it has found the same.
    package typealias Examination = (findings: [Finding], time: Timestamp, since: Timestamp)

    let version: String
    /// Which engine, and where.
    let database: String
    let settings: [OperatorSetting]
    /// Writes what this server has counted since it last did.
    let report: StoreTask
    private let examine: @Sendable () async -> [Finding]
    private let examinations = Mutex<(last: Examination?, isRunning: Bool)>((nil, false))

    /// - Parameter examine: examines everything, as `bramley doctor` does.
    package init(
        version: String, database: String, settings: [OperatorSetting] = [],
        examine: @escaping @Sendable () async -> [Finding], report: @escaping StoreTask
    ) {
        self.version = version
        self.database = database
        self.settings = settings
        self.examine = examine
        self.report = report
    }

    /// Seconds in which there is one examination: each asks Apple.
    private static let examinationLifetime: Int64 = 60

    /// Nil before the first.
    var lastExamination: Examination? { examinations.withLock { $0.last } }

    /// Whether to examine unasked: once a day; ten minutes after something was wrong, an hour after it was unsure, and
    /// then after as long as nothing has changed, since some findings stay for good.
    package func isExaminationDue(at now: Timestamp) -> Bool {
        let day: Int64 = 86_400_000
        guard let last = lastExamination, last.time <= now else { return true }
        let tones = last.findings.map(\.tone)
        let first: Int64 = tones.contains(.wrong) ? 600_000 : tones.contains(.unsure) ? 3_600_000 : day
        let unchanged = last.time.milliseconds - last.since.milliseconds
        return last.time.adding(milliseconds: min(day, max(first, unchanged))) <= now
    }

    /// Examines now, or returns what was found within a minute; nil while the first one is running.
    @discardableResult package func examination(at now: Timestamp) async -> Examination? {
        let isOurs = examinations.withLock { state in
            if let last = state.last, last.time <= now, now < last.time.adding(seconds: Self.examinationLifetime) {
                return false
            }
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isOurs else { return lastExamination }
        let findings = await examine()
        return examinations.withLock { state in
            state.isRunning = false
            // Details change with each examination: they have times.
            let isSame =
                state.last?.findings.map { [$0.check, "\($0.tone)"] } == findings.map { [$0.check, "\($0.tone)"] }
            state.last = (findings, now, isSame ? state.last?.since ?? now : now)
            return state.last
        }
    }
}

/// `/operator`: what an operator wants to know first.
extension OperatorPages {
    /// How many waiting people are shown.
    private static let waiting = 10
    /// Servers report once a minute.
    private static let seen: Int64 = 180

    func today(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        try await console.report()
        let counts = try await database.signIns(since: SignInChart.start(at: visit.now))
        let people = try await database.userCounts()
        let failures = Self.failures(counts, people)
        let (health, isCalm) = (
            health(visit), console.lastExamination?.findings.allSatisfy { $0.tone == .good } ?? true
        )
        let sections =
            [try await figures(people, problems: failures.reduce(0) { $0 + $1.number }, visit)]
            + (isCalm ? [] : [health])
            + [
                try await pending(visit), signIns(counts, visit), self.failures(failures, visit),
                try await apple(visit),
            ] + (isCalm ? [health] : [])
        let page = OperatorPage(tab: .today, title: visit.texts["tabs.today"], sections: sections)
        return self.page(page, visit)
    }

    /// The row at the top: each number leads to what it counts.
    private func figures(
        _ people: [User.State: Int], problems: Int, _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let waiting = people[.pending] ?? 0
        let findings = console.lastExamination?.findings
        let worst: OperatorTone? = findings.map { findings in
            findings.contains { $0.tone == .wrong }
                ? .wrong : findings.contains { $0.tone == .unsure } ? .unsure : .good
        }
        return OperatorSection(
            heading: texts["tabs.today"],
            figures: [
                (
                    texts["doctor"], worst.map { texts["tones.\($0)"] } ?? "…", visit.link("/operator/doctor"), worst
                ),
                (
                    texts["tabs.users"], String(people.values.reduce(0, +)), visit.link("/operator/users"), nil
                ),
                (
                    texts["figures.signedIn"], String(try await database.signedInCount()),
                    visit.link("/operator/sessions"), nil
                ),
                (
                    texts["figures.waiting"], String(waiting), visit.link("/operator/users", [("state", "pending")]),
                    nil
                ),
                (texts["figures.problems"], String(problems), "#failures", nil),
            ])
    }

    /// `/operator/doctor`: examines now, or shows what was examined within a minute.
    func doctor(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let result = await console.examination(at: visit.now)
        let section = OperatorSection(
            heading: texts["doctor"], note: texts["doctorNote"],
            facts: [texts.fact("time", .moment(result?.time))],
            table: OperatorTable(findingColumns(texts), result?.findings ?? [], texts, empty: "underWay"))
        return self.page(OperatorPage(tab: .today, title: texts["doctor"], sections: [section]), visit)
    }

    private func findingColumns(_ texts: OperatorTexts) -> [OperatorColumn<OperatorConsole.Finding>] {
        [
            .init("check") { .code($0.check) },
            .init("state") { .tone(texts["tones.\($0.tone)"], $0.tone) },
            .init("detail") { .text($0.detail) }, .init("next") { .text($0.nextStep) },
        ]
    }

    private func pending(_ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let page = try await database.users(UserFilter(state: .pending), after: nil, limit: Self.waiting)
        let all = visit.link(named: "showAll", to: "/operator/users", [("state", "pending")])
        return OperatorSection(
            heading: texts["waiting"],
            table: OperatorTable(
                [
                    .init("name") { person($0, $0.id, visit) }, .init("email") { .text($0.email?.address) },
                    .init("since") { .moment($0.createdAt) },
                    .change { visit.action(.approve, $0.id.rawValue) },
                ], page.items, texts, empty: "nobodyWaits"), links: page.next == nil ? [] : [all])
    }

    private func signIns(_ counts: [SignInCount], _ visit: OperatorVisit) -> OperatorSection {
        let (chart, heading) = (SignInChart(counts, at: visit.now), visit.texts["signIns"])
        return OperatorSection(heading: heading, chart: chart.markup(label: heading, texts: visit.texts))
    }

    typealias Problem = (reason: String, number: Int)

    /// Why sign-ins did not work, the most frequent first; not those that the visitor cancelled. Those who were refused
    /// for their state and have left it are no longer trouble: at most as many count as are in it now.
    static func failures(_ counts: [SignInCount], _ people: [User.State: Int]) -> [Problem] {
        var numbers: [String: Int] = [:]
        for count in counts where !count.reason.isEmpty && !count.isCancelled {
            numbers[count.reason, default: 0] += count.number
        }
        for (reason, state) in [(ReasonCode.userPending, User.State.pending), (.userDisabled, .disabled)] {
            numbers[reason.rawValue] = numbers[reason.rawValue].map { min($0, people[state] ?? 0) }
        }
        return numbers.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ($0.key, $0.value) }
    }

    /// The meaning, and what an operator can do.
    private func failures(_ problems: [Problem], _ visit: OperatorVisit) -> OperatorSection {
        let texts = visit.texts
        return OperatorSection(
            id: "failures", heading: texts["failures"],
            table: OperatorTable(
                [
                    .init("number") { .text(String($0.number)) },
                    .init("meaning") { .text(texts.word("reasons", $0.reason)) },
                    .init("next") {
                        .text(texts.has("steps.\($0.reason)") ? texts["steps.\($0.reason)"] : texts["noStep"])
                    },
                    .init("reason") { .code($0.reason) },
                ], problems, texts, empty: "noFailures"))
    }

    private func apple(_ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let page = try await database.notifications(outcome: nil, after: nil, limit: 1)
        guard let last = page.items.first else {
            return OperatorSection(heading: texts["lastNotification"], note: texts["noNotification"])
        }
        return OperatorSection(
            heading: texts["lastNotification"],
            facts: [
                texts.fact("received", .moment(last.receivedAt)), texts.fact("type", .code(last.type)),
                texts.fact("outcome", texts.cell(last.outcome)),
            ])
    }

    /// What doctor found last: after the start, or when somebody asked since.
    private func health(_ visit: OperatorVisit) -> OperatorSection {
        let texts = visit.texts
        let link = visit.link(named: "examine", to: "/operator/doctor")
        guard let last = console.lastExamination else {
            return OperatorSection(heading: texts["doctor"], note: texts["underWay"], links: [link])
        }
        let found = last.findings.filter { $0.tone != .good }
        return OperatorSection(
            heading: texts["doctor"], facts: [texts.fact("time", .moment(last.time))],
            table: OperatorTable(findingColumns(texts), found, texts, empty: "allGood"), links: [link])
    }

    func servers(_ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let running = try await database.servers(seen: visit.now.adding(seconds: -Self.seen))
        return OperatorSection(
            heading: texts["servers"],
            facts: [texts.fact("version", .code(console.version))],
            table: OperatorTable(
                [
                    .init("host") { .code($0.host) }, .init("version") { .code($0.version) },
                    .init("started") { .moment($0.startedAt) }, .init("lastActive") { .moment($0.seenAt) },
                ], running, texts, empty: "nothing"))
    }
}
