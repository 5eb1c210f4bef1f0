package import Accounts
import Coding
import HTTP
import Synchronization

/// What the page says of this installation; the executable provides it.
package final class OperatorConsole: Sendable {
    /// One finding of `bramley doctor`.
    package typealias Finding = (check: String, isGood: Bool, detail: String, nextStep: String?)
    /// What doctor found, and when.
    typealias Examination = (findings: [Finding], time: Timestamp)

    let version: String
    /// Which engine, and where.
    let database: String
    /// Writes what this server has counted since it last did.
    let report: StoreTask
    private let examine: @Sendable () async -> [Finding]
    private let examinations = Mutex<(last: Examination?, isRunning: Bool)>((nil, false))

    /// - Parameter examine: examines everything, as `bramley doctor` does.
    package init(
        version: String, database: String, examine: @escaping @Sendable () async -> [Finding],
        report: @escaping StoreTask
    ) {
        self.version = version
        self.database = database
        self.examine = examine
        self.report = report
    }

    /// Seconds in which there is one examination: each asks Apple.
    private static let examinationLifetime: Int64 = 60

    /// Nil before the first.
    var lastExamination: Examination? { examinations.withLock { $0.last } }

    /// Examines now, or returns what was found within a minute; nil while the first is under way for somebody else.
    func examination(at now: Timestamp) async -> Examination? {
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
            state.last = (findings, now)
            return state.last
        }
    }
}

/// `/operator`: what an operator wants to know first.
extension OperatorPages {
    /// People shown of those who wait.
    private static let waiting = 10
    /// Servers report once a minute.
    private static let seen: Int64 = 180

    func today(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        try await console.report()
        let counts = try await database.signIns(since: SignInChart.start(at: visit.now))
        let sections = [
            try await pending(visit), signIns(counts, visit), try await failures(counts, visit),
            try await apple(visit), health(visit), try await servers(visit),
        ]
        let page = OperatorPage(tab: .today, title: visit.texts["tabs.today"], sections: sections)
        return self.page(page, visit)
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
            .init("state") { .tag(texts[$0.isGood ? "good" : "toDo"], isGood: $0.isGood) },
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

    /// What did not work, the most frequent first, in the words of the visitor's page, and what an operator can do.
    private func failures(_ counts: [SignInCount], _ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        var numbers: [String: Int] = [:]
        for count in counts where !count.reason.isEmpty { numbers[count.reason, default: 0] += count.number }
        for (reason, number) in try await outdated(numbers) { numbers[reason] = number }
        let ordered = numbers.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return OperatorSection(
            heading: texts["failures"],
            table: OperatorTable(
                [
                    .init("number") { .text(String($0.value)) }, .init("reason") { .code($0.key) },
                    .init("meaning") {
                        let key = "errors.\($0.key).title"
                        return .text(texts.strings.has(key) ? texts.strings[key] : texts.word("reasons", $0.key))
                    },
                    .init("next") { .text(texts.has("steps.\($0.key)") ? texts["steps.\($0.key)"] : texts["noStep"]) },
                ], ordered, texts, empty: "noFailures"))
    }

    /// Those who were refused for their state and have left it are no longer trouble: at most as many count as are in
    /// it. Nil for a reason that nobody meets any more.
    private func outdated(_ numbers: [String: Int]) async throws(Failure) -> [(String, Int?)] {
        let states: [(ReasonCode, User.State)] = [(.userPending, .pending), (.userDisabled, .disabled)]
        guard states.contains(where: { numbers[$0.0.rawValue] != nil }) else { return [] }
        let now = try await database.userCounts()
        return states.map { reason, state in
            let number = min(numbers[reason.rawValue] ?? 0, now[state] ?? 0)
            return (reason.rawValue, number > 0 ? number : nil)
        }
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

    /// What doctor found last; a new examination takes seconds, so it is asked for.
    private func health(_ visit: OperatorVisit) -> OperatorSection {
        let texts = visit.texts
        let link = visit.link(named: "examine", to: "/operator/doctor")
        guard let last = console.lastExamination else {
            return OperatorSection(heading: texts["doctor"], note: texts["notExamined"], links: [link])
        }
        let found = last.findings.filter { !$0.isGood }
        return OperatorSection(
            heading: texts["doctor"], facts: [texts.fact("time", .moment(last.time))],
            table: OperatorTable(findingColumns(texts), found, texts, empty: "allGood"), links: [link])
    }

    private func servers(_ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let running = try await database.servers(seen: visit.now.adding(seconds: -Self.seen))
        return OperatorSection(
            heading: texts["servers"],
            facts: [texts.fact("version", .code(console.version)), texts.fact("database", .code(console.database))],
            table: OperatorTable(
                [
                    .init("host") { .code($0.host) }, .init("version") { .code($0.version) },
                    .init("started") { .moment($0.startedAt) }, .init("lastActive") { .moment($0.seenAt) },
                ], running, texts, empty: "nothing"))
    }
}
