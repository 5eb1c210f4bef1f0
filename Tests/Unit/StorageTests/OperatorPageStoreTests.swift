import Coding
import Crypto
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// What the operator's page writes: who must stay, and the sums it shows.
@Suite struct OperatorPageStoreTests {
    private let bench: Bench
    private let database: Accounts.Database
    private let groups = ["admins", "owners"]

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private func person(_ subject: String, in groups: [String] = []) async throws -> UserID {
        let session = try #require(
            try await database.completeSignIn(record(subject, at: bench.clock.now())).session)
        if !groups.isEmpty {
            _ = try await database.patchUser(session.user, UserPatch(groups: groups), at: bench.clock.now())
        }
        return session.user
    }

    private enum Result: Equatable {
        case changed, unknown, otherState, lastOperator, deleted(revocations: Int)
    }

    /// - Parameters:
    ///   - patch: nil deletes.
    ///   - state: in which the person must be.
    private func change(_ id: UserID, _ patch: UserPatch?, from state: User.State? = nil) async throws -> Result {
        let now = bench.clock.now()
        guard let patch else {
            return switch try await database.deleteUser(id, keepingOneOf: groups, at: now) {
            case .deleted(let revocations): .deleted(revocations: revocations)
            case .lastOperator: .lastOperator
            case .unknown, .conditionFailed: .unknown
            }
        }
        let result = try await database.patchUser(
            id, if: { state == nil || $0.state == state }, keepingOneOf: groups, at: now
        ) { _ in patch }
        return switch result {
        case .patched: .changed
        case .conditionFailed: .otherState
        case .lastOperator: .lastOperator
        default: .unknown
        }
    }

    private static let removals: [(name: String, change: UserPatch?)] = [
        ("disable", UserPatch(state: .disabled)), ("another group", UserPatch(groups: ["staff"])),
        ("no group", UserPatch(groups: [])), ("delete", nil),
    ]

    @Test("The last operator cannot be removed in any way", arguments: removals)
    func lastOperator(_ name: String, removal: UserPatch?) async throws {
        let ann = try await person("ann", in: ["admins"])
        _ = try await person("bob", in: ["Admins", "owner", "staff"])
        #expect(try await change(ann, removal) == .lastOperator)
        #expect(try await database.user(ann)?.isOperator(groups) == true)
        // Another group of the list counts as well; one who is disabled does not.
        let eve = try await person("eve", in: ["staff", "owners"])
        _ = try await database.patchUser(eve, UserPatch(state: .disabled), at: bench.clock.now())
        #expect(try await change(ann, removal) == .lastOperator)
        _ = try await database.patchUser(eve, UserPatch(state: .active), at: bench.clock.now())
        let result = try await change(ann, removal)
        #expect(result == (removal == nil ? .deleted(revocations: 1) : .changed))
        // What removes nobody is never refused.
        #expect(try await change(eve, UserPatch(groups: ["admins"]), from: .active) == .changed)
    }

    @Test("Of operators who remove each other concurrently, one remains")
    func race() async throws {
        let names = (0..<8).map { "op\($0)" }
        var operators: [UserID] = []
        for name in names { operators.append(try await person(name, in: ["admins"])) }
        let results = try await withThrowingTaskGroup(of: Result.self) { group in
            for (id, removal) in zip(operators, Self.removals + Self.removals) {
                group.addTask { try await change(id, removal.change) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 == .lastOperator } == 1)
        var left = 0
        for id in operators where try await database.user(id)?.isOperator(groups) == true { left += 1 }
        #expect(left == 1)
    }

    @Test func changeOfSomebodyWhoChangedMeanwhileIsRefused() async throws {
        let ann = try await person("ann")
        #expect(try await change(ann, UserPatch(state: .active), from: .pending) == .otherState)
        #expect(try await change(ann, UserPatch(state: .disabled), from: .active) == .changed)
        #expect(try await database.sessions(of: ann, at: bench.clock.now()).isEmpty)
        #expect(try await change(UserID(unchecked: "usr_0"), nil) == .unknown)
        #expect(try await database.userCounts() == [.disabled: 1])
    }

    @Test func sumsOfSeveralServersAreOne() async throws {
        let now = bench.clock.now()
        let (hour, earlier) = (now.hour, now.hour.adding(seconds: -9 * 86_400))
        func count(_ hour: Timestamp, _ outcome: String, _ reason: String, _ number: Int) -> SignInCount {
            SignInCount(hour: hour, outcome: outcome, reason: reason, number: number)
        }
        try await database.addSignIns([count(earlier, "signed_in", "", 7)], at: earlier)
        try await database.addSignIns([count(hour, "signed_in", "", 2), count(hour, "failed", "clock", 1)], at: now)
        try await database.addSignIns([count(hour, "signed_in", "", 3), count(hour, "failed", "storage", 1)], at: now)
        #expect(
            try await database.signIns(since: earlier) == [
                count(hour, "failed", "clock", 1), count(hour, "failed", "storage", 1), count(hour, "signed_in", "", 5),
            ], "the old ones are gone")
        #expect(try await database.signIns(since: hour.adding(seconds: 1)).isEmpty)
    }

    @Test func onlyRecentlySeenServersAreListed() async throws {
        let now = bench.clock.now()
        func server(_ id: String, seen: Int64) -> RunningServer {
            RunningServer(
                id: id, host: "host-\(id)", version: "1", startedAt: now, seenAt: now.adding(seconds: seen))
        }
        for (id, seen) in [("a", Int64(-90_000)), ("b", -600), ("c", -60), ("c", 0)] {
            try await database.reportServer(server(id, seen: seen))
        }
        #expect(try await database.servers(seen: now.adding(seconds: -180)).map(\.id) == ["c"])
        #expect(try await database.servers(seen: now.adding(seconds: -100_000)).map(\.id) == ["b", "c"])
        try await database.forgetServer("c", at: now)
        #expect(try await database.servers(seen: now.adding(seconds: -100_000)).map(\.id) == ["b"])
    }

    @Test func waitingPeopleAndDeliveriesAreCounted() async throws {
        #expect(
            try await database.counts(CheckScope(team: Bench.team, clients: []), at: bench.clock.now()).pending == 0)
        for name in ["ann", "bob"] {
            _ = try await database.completeSignIn(record(name, policy: .approval, at: bench.clock.now()))
            bench.clock.advance(seconds: 60)
        }
        let counts = try await database.counts(CheckScope(team: Bench.team, clients: []), at: bench.clock.now())
        #expect(counts.pending == 2)
        #expect(counts.oldestPending == bench.clock.now().adding(seconds: -120))
    }

    @Test func groupsAreCountedAndTheDatabaseIsMeasured() async throws {
        for (name, groups) in [("ann", ["admins", "staff"]), ("bob", ["staff"]), ("eve", [])] {
            _ = try await person(name, in: groups)
        }
        #expect(try await database.groupCounts() == ["admins": 1, "staff": 2])
        let facts = try await database.facts()
        #expect(facts.bytes > 0 && facts.lastBackup == nil)
    }

    @Test func actsOfTheOperatorAreRecordedUnderTheirID() async throws {
        let (ann, bob) = (try await person("ann", in: ["admins"]), try await person("bob"))
        try await AuditActor.$current.withValue(.operatorPage(ann, network: "203.0.113.0/24")) {
            _ = try await change(bob, UserPatch(state: .disabled), from: .active)
            try await database.record(.userViewed, user: bob, object: nil, at: bench.clock.now())
        }
        let log = try await database.auditLog(AuditFilter(user: bob), before: nil, limit: 3).items
        #expect(log.map(\.kind) == [.userViewed, .sessionEnded, .userDisabled])
        #expect(
            log.allSatisfy {
                $0.actor == .operator && $0.account == ann.rawValue && $0.network == "203.0.113.0/24"
            })
    }
}
