import Coding
import Testing

@testable import Accounts
@testable import Web

/// What the operator's page makes of numbers and addresses.
@Suite struct OperatorPageTests {
    private static let now = Timestamp(milliseconds: 1_772_000_000_000)

    private static func count(_ end: SignInEnd, _ number: Int) -> SignInCount {
        SignInCount(hour: now.hour, outcome: end.outcome, reason: end.reason, number: number)
    }

    @Test(
        "The scale of the chart ends with a round number whose half is whole",
        arguments: [
            (0, 2), (1, 2), (2, 2), (3, 4), (5, 6), (7, 8), (9, 10), (10, 10), (11, 20), (41, 60), (99, 100),
            (101, 200),
            (98_765, 100_000),
        ])
    func scale(_ number: Int, end: Int) {
        #expect(SignInChart([Self.count(.signedIn, number)], at: Self.now).scale == end)
    }

    @Test("What a visitor cancelled is no failure")
    func cancelled() {
        let chart = SignInChart(
            [Self.count(.failed(.cancelled), 7), Self.count(.failed(.clock), 2), Self.count(.refused(.pending), 1)],
            at: Self.now)
        #expect(SignInChart.Band.allCases.map(chart.total) == [0, 1, 2])
    }

    @Test("Those who were refused for a state that they have left are no trouble")
    func problems() {
        let counts = [
            Self.count(.refused(.pending), 5), Self.count(.refused(.disabled), 3), Self.count(.failed(.clock), 4),
            Self.count(.failed(.cancelled), 9), Self.count(.signedIn, 20), Self.count(.failed(.clock), 1),
        ]
        func found(_ people: [User.State: Int]) -> [String] {
            OperatorPages.failures(counts, people).map { "\($0.reason) \($0.number)" }
        }
        #expect(found([.active: 9]) == ["clock 5"])
        #expect(found([.pending: 2, .disabled: 7]) == ["clock 5", "user_disabled 3", "user_pending 2"])
    }

    @Test("Each of several targets counts once")
    func targets() {
        #expect(OperatorAction.targets("b.a..b.c.a") == ["b", "a", "c"])
    }

    @Test("The audit log's types can all be chosen, each once")
    func auditTypes() throws {
        let strings = try Strings(locale: "en", files: PageFiles(overrides: [:]), fallback: nil, values: [:])
        let offered = OperatorPages.kinds(OperatorTexts(strings: strings)).flatMap(\.options).map { $0.0 }
        #expect(offered.sorted() == AuditEntry.Kind.allCases.map(\.rawValue).sorted())
    }

    @Test("What doctor found good is examined again after a day, anything else as soon as asked")
    func examinations() async {
        let day = Self.now.adding(seconds: 86_400)
        for (tone, isDue) in [(OperatorTone.good, false), (.unsure, true), (.wrong, true)] {
            let console = OperatorConsole(
                version: "", database: "", examine: { [("one", .good, "", nil), ("two", tone, "", nil)] }, report: {})
            #expect(console.isExaminationDue(at: Self.now))
            await console.examination(at: Self.now)
            #expect(console.isExaminationDue(at: Self.now.adding(seconds: 600)) == isDue)
            #expect(console.isExaminationDue(at: day))
        }
    }

    /// The visitor's page speaks to them; this one speaks of them.
    @Test("Every way in which a sign-in does not work has words for the operator", arguments: StringsTests.languages)
    func reasons(_ language: String) throws {
        let texts = try StringsTests.texts(language)
        for end in SignInEnd.allCases where !end.reason.isEmpty && end != .failed(.cancelled) {
            let text = try #require(texts["operator.reasons.\(end.reason)"], "\(end)")
            if language == "en" { #expect(!text.lowercased().contains("you"), "\(text)") }
        }
    }

    @Test(
        "A change leads back to a page of the operator's only",
        arguments: [
            ("/operator", true), ("/operator/users?state=pending&after=AQ", true), ("/operator?x=1", true),
            ("", false), ("/", false), ("/account", false), ("/operators", false), ("//evil.example/operator", false),
            ("https://evil.example/operator", false), ("/operator/../logout", false), ("/operator\\x", false),
            ("/operator/%2e%2e/logout", false), ("/operator/users/%2e%2e/%2e%2e/logout", false),
            ("/operator/clients/../../logout", false), ("/operator/clients/..", false), ("/operator/clients/a.b", true),
            ("/operator/clients/a%2fb", false), ("/operator/users/usr_4yfwqbg99z3nwac6hg4phmjzv7?x=1", true),
            ("/operator/users/usr_4yfwqbg99z3nwac6hg4phmjzv7/export", false), ("/operator/users/x", false),
            ("/operator/users/", false), ("/operator/nothing", false), ("/operator/audit?type=user.viewed", true),
            ("/operator/users?format=csv", false), ("/operator/users?q=%2e%2e&format=csv", false),
            ("/operator/users?%66ormat=csv", false), ("/operator/users?format", false),
            ("/operator/a b", false), ("/operator/\r\nx: y", false),
            ("/operator/users?q=" + String(repeating: "a", count: 142), true),
            ("/operator/users?q=" + String(repeating: "a", count: 143), false),
        ])
    func back(_ text: String, isTaken: Bool) {
        #expect(OperatorAction.back(text) == (isTaken ? text : nil))
    }
}
