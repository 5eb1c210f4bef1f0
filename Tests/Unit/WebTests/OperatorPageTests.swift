import Coding
import Synchronization
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

    @Test("A cancelled sign-in is not a failure")
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

    @Test(
        "What doctor found is examined again after a day; sooner if it was not good, but ever later while it stays",
        arguments: [
            (OperatorTone.good, [1440, 1440]), (.unsure, [60, 60, 120, 240, 480, 960, 1440, 1440]),
            (.wrong, [10, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]),
        ])
    func examinations(_ tone: OperatorTone, minutes: [Int64]) async {
        let tones = Mutex(tone)
        let console = OperatorConsole(
            version: "", database: "",
            examine: { [("one", .good, "", nil), ("two", tones.withLock { $0 }, "at another time", nil)] }, report: {})
        #expect(console.isExaminationDue(at: Self.now))
        var now = Self.now
        await console.examination(at: now)
        for wait in minutes {
            #expect(!console.isExaminationDue(at: now.adding(milliseconds: wait * 60_000 - 1)))
            now = now.adding(seconds: wait * 60)
            #expect(console.isExaminationDue(at: now))
            await console.examination(at: now)
        }
        // What has changed is watched closely again.
        tones.withLock { $0 = tone == .wrong ? .unsure : .wrong }
        now = now.adding(seconds: 86_400)
        await console.examination(at: now)
        #expect(console.isExaminationDue(at: now.adding(seconds: 3_600)))
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
