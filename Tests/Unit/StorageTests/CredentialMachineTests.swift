import Coding
import Crypto
import Stores
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

/// The state machine of docs/apps/credential-states.md through the real store: whatever happens to an identity, what is
/// stored afterwards is what `CredentialStatus.transition` says, deletion and transfer included.
@Suite struct CredentialMachineTests {
    enum Start: String, CaseIterable, Sendable {
        case notKept, authorized, revoked, notFound, transferred
    }

    enum Act: String, CaseIterable, Sendable {
        case signIn, signInFromBefore, imported, revoked, revokedAtTheSignIn, revokedBefore, erased, disabled
        case deletedBefore, alive, dead, deadBesideAnother, deadOfBefore, deleted, transferOut, transferIn

        var isCheck: Bool {
            switch self {
            case .alive, .dead, .deadBesideAnother, .deadOfBefore: true
            default: false
            }
        }
    }

    @Test("every event in every state, repeated where that is possible", .onSQLite, arguments: Start.allCases)
    func everyCell(start: Start) async throws {
        let world = try World()
        for act in Act.allCases {
            // Whoever waits to be revoked at Apple is not imported; who was never here is, in CredentialStateTests.
            if start == .notKept, act == .imported { continue }
            let life = try await Life(act.rawValue, in: world, for: [act])
            try await life.reach(start)
            #expect(try life.status()?.state.rawValue == (start == .notKept ? nil : start.rawValue), "\(act)")
            try await life.meet(act, "\(start)")
        }
    }

    /// What may follow upon anything.
    private static let second: [Act] = [
        .signIn, .imported, .revoked, .revokedAtTheSignIn, .erased, .disabled, .alive, .dead, .deleted, .transferOut,
        .transferIn,
    ]

    @Test(
        "every event after every other", .onSQLite, arguments: Act.allCases.filter { $0 != .transferOut })
    func everyPair(first: Act) async throws {
        let world = try World()
        for second in Self.second {
            // Whoever waits to be revoked at Apple is not imported.
            if second == .imported, [.erased, .deleted].contains(first) { continue }
            // The only answer was applied: another has no effect.
            if second.isCheck, first == .deadBesideAnother { continue }
            let life = try await Life(second.rawValue, in: world, for: [first, second])
            try await life.meet(first, "first")
            try await life.meet(second, "after \(first)")
        }
    }

    @Test("once moved, the old identity stays transferred, and its notifications affect the new one", .onSQLite)
    func afterTheMove() async throws {
        let world = try World()
        for act in [Act.revoked, .revokedBefore, .disabled, .erased, .imported, .deleted] {
            let life = try await Life(act.rawValue, in: world, for: [act])
            try await life.meet(.transferOut, "first")
            let arrived = try life.status(of: "new-" + life.name, World.away)
            #expect(arrived?.state == .authorized && arrived?.cause == .transferredIn)
            let event = try await life.act(act)
            let expected = CredentialStatus.transition(from: arrived, on: event, lastSignIn: world.start)
            #expect(try life.status(of: "new-" + life.name, World.away) == expected, "\(act)")
            #expect(try life.status()?.state == (expected == nil ? nil : .transferred), "\(act)")
        }
    }
}

/// One database, opened by two processes that differ in `apple.onAccountDeleted`.
private struct World {
    static let (away, from) = (TeamID("TEAM654321"), TeamID("TEAM111111"))
    static let app = ClientID("com.example.app")

    let bench: Bench
    let erasing: Accounts.Database
    let disabling: Accounts.Database
    /// When everybody signs in first, in whole seconds.
    let start: Timestamp
    let schedule = CheckSchedule(random: SystemRandom())

    init() throws {
        bench = try Bench()
        erasing = try bench.open(bench.options(onAccountDeleted: .erase))
        disabling = try bench.open(bench.options(onAccountDeleted: .disable))
        start = Timestamp(seconds: bench.clock.now().seconds)
    }

    var now: Timestamp { bench.clock.now() }
    func pass() { bench.clock.advance(seconds: 60) }
}

/// One identity of the team at home.
private struct Life {
    let world: World
    let name: String
    private var check: DueCheck?

    /// Signs in, and Apple is being asked about the token.
    init(_ name: String, in world: World, for acts: [CredentialMachineTests.Act]) async throws {
        (self.world, self.name) = (world, name)
        try await signIn(issuedAt: world.start)
        if acts.contains(.deadBesideAnother) { try await signIn(issuedAt: world.start, client: World.app) }
        if acts.contains(where: \.isCheck) {
            try world.bench.stranger().write { connection in
                try connection.execute("UPDATE apple_credential SET next_check_at = NULL")
                try connection.execute(
                    """
                    UPDATE apple_credential SET next_check_at = 1, checked_at = NULL WHERE client_id = ?
                    AND identity = (SELECT id FROM apple_identity WHERE subject = ?)
                    """, [Bench.web.rawValue, name])
            }
            let scope = CheckScope(team: Bench.team, clients: [Bench.web, World.app])
            let begun = try await world.erasing.beginChecks(scope, limit: 1, schedule: world.schedule, at: world.now)
            let mine: DueCheck = try #require(begun.first { $0.subject == AppleSubject(name) })
            check = mine
        }
        world.pass()
        if acts.contains(.deadOfBefore) { try await signIn(issuedAt: world.now, bringsToken: false) }
    }

    private func signIn(
        issuedAt: Timestamp, client: ClientID = Bench.web, bringsToken: Bool = true
    ) async throws {
        var new = record(name, issuedAt: issuedAt, at: world.now)
        new.claims.clientID = client
        if !bringsToken { new.sealedRefreshToken = nil }
        _ = try await world.erasing.completeSignIn(new)
    }

    func status() throws -> CredentialStatus? { try status(of: name, Bench.team) }

    func status(of subject: String, _ team: TeamID) throws -> CredentialStatus? {
        let connection = try SQLiteConnection(
            path: world.bench.folder.path + "/bramley.db", isReadOnly: true, busyTimeout: 0)
        return try connection.firstRow(
            "SELECT \(CredentialStatus.columns) FROM apple_identity i WHERE i.team = ? AND i.subject = ?",
            [team, subject]
        ).map { try CredentialStatus($0) }
    }

    private func lastSignIn() throws -> Timestamp {
        let time = try world.bench.stranger().read { connection in
            try connection.integer(
                "SELECT last_sign_in_issued_at FROM apple_identity WHERE team = ? AND subject = ?",
                [Bench.team.rawValue, name])
        }
        return time.map { Timestamp(milliseconds: Int64($0)) } ?? world.start
    }

    func reach(_ start: CredentialMachineTests.Start) async throws {
        world.pass()
        switch start {
        case .notKept: _ = try await act(.deleted)
        case .authorized: break
        case .revoked: _ = try await act(.revoked)
        case .notFound: _ = try await act(.disabled)
        case .transferred:
            let person = try #require(try await exported(name, from: Bench.team, to: World.away))
            try await world.erasing.keepRefusal("invalid_request", of: person, to: World.away, at: world.now)
        }
        world.pass()
    }

    /// What happens, and whether the store did with it what the function says.
    func meet(_ act: CredentialMachineTests.Act, _ note: String) async throws {
        let (before, lastSignIn) = (try status(), try lastSignIn())
        let event = try await self.act(act)
        let expected = CredentialStatus.transition(from: before, on: event, lastSignIn: lastSignIn)
        #expect(try status() == expected, "\(act), \(note)")
        world.pass()
    }

    /// - Returns: the same as the function knows it.
    func act(_ act: CredentialMachineTests.Act) async throws -> CredentialEvent {
        let now = world.now
        let last = try lastSignIn()
        switch act {
        case .signIn: return try await signedIn(now)
        case .signInFromBefore: return try await signedIn((try status()?.changedAt ?? now).adding(seconds: -1))
        case .imported:
            let identifiers = RandomIdentifier(random: SystemRandom())
            for _ in 0..<2 {
                let person = ImportedPerson(newUser: identifiers.make(), subject: AppleSubject(name))
                _ = try await world.erasing.importPeople([person], team: Bench.team, isRehearsal: false, at: now)
            }
            return .imported(at: now)
        case .revoked: return try await told(.consentRevoked, at: now)
        case .revokedAtTheSignIn: return try await told(.consentRevoked, at: last)
        case .revokedBefore: return try await told(.consentRevoked, at: last.adding(seconds: -1))
        case .erased: return try await told(.accountDeleted, at: now)
        case .disabled: return try await told(.accountDeleted, at: now, policy: .disable)
        case .deletedBefore: return try await told(.accountDeleted, at: last.adding(seconds: -1))
        case .alive: return try await answered(.alive, .tokenAlive)
        case .dead, .deadBesideAnother, .deadOfBefore:
            return try await answered(
                .dead,
                .tokenDead(at: now, newestIssuedAt: world.start, othersLive: act == .deadBesideAnother))
        case .deleted:
            let user = try await world.erasing.user(team: Bench.team, subject: AppleSubject(name))
            if let user {
                for _ in 0..<2 { _ = try await world.erasing.deleteUser(user.id, at: now) }
            }
            return .deleted
        case .transferOut:
            if let person = try await exported(name, from: Bench.team, to: World.away) {
                try await moved(person, to: "new-" + name, of: World.away)
            }
            return .transferredOut(at: now)
        case .transferIn:
            let stranger = "from-\(name)-\(now.milliseconds)"
            var arrival = record(stranger, issuedAt: world.start, at: now)
            arrival.team = World.from
            _ = try await world.erasing.completeSignIn(arrival)
            let person = try #require(try await exported(stranger, from: World.from, to: Bench.team))
            try await moved(person, to: name, of: Bench.team)
            return .transferredIn(at: now)
        }
    }

    private func signedIn(_ issuedAt: Timestamp) async throws -> CredentialEvent {
        try await signIn(issuedAt: issuedAt)
        return .signIn(issuedAt: issuedAt)
    }

    /// Twice: a duplicate is known by its jti.
    private func told(
        _ kind: AppleNotification.Kind, at time: Timestamp, policy: AccountDeletionPolicy = .erase
    ) async throws -> CredentialEvent {
        let told = notification(kind, subject: name, time: time)
        let store = policy == .erase ? world.erasing : world.disabling
        for _ in 0..<2 { _ = try await store.apply(told, team: Bench.team, at: world.now) }
        return kind == .consentRevoked ? .consentRevoked(at: time) : .accountDeleted(at: time, policy)
    }

    private func answered(_ answer: CheckAnswer, _ event: CredentialEvent) async throws -> CredentialEvent {
        let check = try #require(check)
        for _ in 0..<2 { _ = try await world.erasing.recordCheck(answer, of: check, at: world.now) }
        return event
    }

    /// Apple names the person to the other team; nil when there is nobody to name.
    private func exported(_ subject: String, from: TeamID, to target: TeamID) async throws -> TransferSubject? {
        let store = world.erasing
        let people = try await store.peopleToExport(of: from, to: target, again: false, after: nil, limit: 1_000)
        let answers = people.filter { $0.rawValue == subject }.map { person in
            TransferAnswer(person: person, outcome: .value(TransferSubject("t." + subject)))
        }
        _ = try await store.keepExports(answers, of: from, to: target, at: world.now)
        return try await store.peopleToImport(to: target, again: true, after: nil, limit: 1_000).first {
            $0 == TransferSubject("t." + subject)
        }
    }

    private func moved(_ person: TransferSubject, to subject: String, of team: TeamID) async throws {
        let identity = TransferredIdentity(subject: AppleSubject(subject), email: nil)
        _ = try await world.erasing.move(person, to: identity, of: team, joins: true, at: world.now)
    }
}
