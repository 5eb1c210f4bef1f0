import Coding
import Crypto
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// People on their way from one team to another, through the real store.
@Suite struct TransferTests {
    static let old = Bench.team
    static let new = TeamID("TEAM654321")

    let bench: Bench
    let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private var now: Timestamp { bench.clock.now() }

    private func signIn(
        _ subject: String, team: TeamID = old, transferSubject: String? = nil, policy: SignUpPolicy = .open,
        email: String? = nil, isPrivate: Bool = false
    ) async throws -> SignInResult {
        bench.clock.advance(seconds: 60)
        var record = record(subject, policy: policy, email: email, at: now)
        record.team = team
        record.claims.transferSubject = transferSubject
        record.claims.email?.isPrivate = isPrivate
        return try await database.completeSignIn(record)
    }

    private func export(_ names: [String]) async throws {
        let people = try await database.peopleToExport(of: Self.old, to: Self.new, again: false, after: nil, limit: 100)
        let answers = people.filter { names.contains($0.rawValue) }.map { person in
            TransferAnswer(person: person, outcome: .value(TransferSubject("t." + person.rawValue)))
        }
        #expect(answers.count == names.count)
        #expect(try await database.keepExports(answers, of: Self.old, to: Self.new, at: now) == 0)
    }

    private func pending(_ name: String, again: Bool = false) async throws -> TransferSubject? {
        try await database.peopleToImport(to: Self.new, again: again, after: nil, limit: 100).first {
            $0 == TransferSubject("t." + name)
        }
    }

    private func move(
        _ name: String, relay: String? = nil, joins: Bool = false, again: Bool = false
    ) async throws -> MoveResult {
        let person = try #require(try await pending(name, again: again))
        let email = relay.map { EmailAddress(address: $0, isVerified: true, isPrivate: true) }
        return try await database.move(
            person, to: TransferredIdentity(subject: AppleSubject("new-" + name), email: email), of: Self.new,
            joins: joins, at: now)
    }

    private func user(_ subject: String, _ team: TeamID = new) async throws -> User? {
        try await database.user(team: team, subject: AppleSubject(subject))
    }

    private func apply(
        _ kind: AppleNotification.Kind, _ subject: String, email: String? = nil
    ) async throws -> NotificationOutcome {
        bench.clock.advance(seconds: 60)
        var told = notification(kind, subject: subject, time: now)
        told.email = email.map { EmailAddress(address: $0, isVerified: true, isPrivate: true) }
        return try await database.apply(told, team: Self.new, at: now)
    }

    private func events(_ kind: JournalEntry.Kind = .userTransferred) async throws -> [JournalEntry] {
        try await database.events(after: nil, limit: 1000).filter { $0.kind == kind }
    }

    // MARK: Moving

    @Test func bothSubjectsResolve() async throws {
        let session = try #require(try await signIn("ann", email: "old@relay", isPrivate: true).session)
        try await export(["ann"])
        #expect(try await user("ann")?.id == session.user, "known under the new team before the move")
        #expect(try await move("ann", relay: "new@relay") == .moved(session.user))
        for (subject, team) in [("ann", Self.old), ("ann", Self.new), ("new-ann", Self.new)] {
            let found = try #require(try await user(subject, team))
            #expect(found.id == session.user && found.appleSubject == AppleSubject("new-ann"))
            #expect(found.credentialState == .authorized && found.email?.address == "new@relay")
        }
        #expect(try await user("new-ann", Self.old) == nil)
        let signedIn = try #require(try await database.signedIn(token: session.tokenHash, at: now))
        #expect(signedIn.user.appleSubject == AppleSubject("new-ann") && signedIn.user.credentialState == .authorized)
        #expect(try await events().map(\.fields) == [["appleSubject", "email"]])
        #expect(try await events().map(\.user) == [session.user])
        let identities = try #require(try await database.accountRecord(of: session.user, newest: 100, at: now))
            .identities
        #expect(identities.map(\.credential.state) == [.transferred, .authorized])
        #expect(try await pending("ann", again: true) == nil)
        #expect(try await database.transferCounts(from: Self.old, to: Self.new).moved == 1)
    }

    @Test func anAddressOfTheirOwnStays() async throws {
        let user = try #require(try await signIn("ann", email: "ann@example.com").user)
        try await export(["ann"])
        _ = try await move("ann", relay: "new@relay")
        #expect(try await database.user(user.id)?.email?.address == "ann@example.com")
        #expect(try await events().map(\.fields) == [["appleSubject"]])
    }

    @Test func forwardingWasAboutTheOldAddress() async throws {
        let user = try #require(try await signIn("ann", email: "old@relay", isPrivate: true).user)
        try await export(["ann"])
        #expect(try await apply(.emailDisabled, "ann", email: "old@relay") == .applied)
        #expect(try await database.user(user.id)?.emailForwarding == false)
        _ = try await move("ann", relay: "new@relay")
        #expect(try await database.user(user.id)?.emailForwarding == nil)
        #expect(try await apply(.emailDisabled, "ann", email: "old@relay") == .stale)
        #expect(try await database.user(user.id)?.emailForwarding == nil)
        #expect(try await apply(.emailDisabled, "new-ann", email: "new@relay") == .applied)
        #expect(try await database.user(user.id)?.emailForwarding == false)
    }

    @Test("signing in early moves them: no second account", arguments: [SignUpPolicy.open, .approval, .closed])
    func earlyArrival(policy: SignUpPolicy) async throws {
        let ann = try #require(try await signIn("ann").user)
        try await export(["ann"])
        try await database.saveFirstConsent(
            team: Self.new, subject: AppleSubject("new-ann"), name: PersonName(given: "Ann"), at: now)
        let early = try await signIn("new-ann", team: Self.new, transferSubject: "t.ann", policy: policy)
        #expect(early.user?.id == ann.id && early.user?.name.given == "Ann")
        guard case .signedIn(_, _, false) = early else { return #expect(Bool(false), "\(early)") }
        #expect(try bench.text("SELECT count(*) FROM user") == "1")
        #expect(try await pending("ann") == nil)
        #expect(try await events().count == 1)
        // And again, with the claim and without.
        #expect(try await signIn("new-ann", team: Self.new, transferSubject: "t.ann").user?.id == ann.id)
        #expect(try await signIn("new-ann", team: Self.new).user?.id == ann.id)
        #expect(try await events().count == 1)
        #expect(try bench.text("SELECT count(*) FROM apple_identity") == "2")
    }

    @Test("a subject for another team, or one not exported, moves nobody", arguments: ["t.bob", "", "T.ANN"])
    func unknownName(name: String) async throws {
        _ = try await signIn("ann")
        try await export(["ann"])
        let stranger = try await signIn("new-ann", team: Self.new, transferSubject: name)
        guard case .signedIn(_, _, true) = stranger else { return #expect(Bool(false), "\(stranger)") }
        let other = try await signIn("other-ann", team: TeamID("TEAM000000"), transferSubject: "t.ann")
        guard case .signedIn(_, _, true) = other else { return #expect(Bool(false), "\(other)") }
    }

    /// The claim of another transfer must not replace what the export got.
    @Test func aClaimDoesNotReplaceTheExport() async throws {
        _ = try await signIn("ann")
        try await export(["ann"])
        _ = try await signIn("ann", transferSubject: "t.elsewhere")
        #expect(try await pending("ann") != nil)
    }

    // MARK: A second account

    @Test func secondAccountIsJoinedOnlyOnRequest() async throws {
        let first = try #require(try await signIn("ann").user)
        let second = try #require(try await signIn("new-ann", team: Self.new).session)
        _ = try await database.patchUser(second.user, UserPatch(externalID: "7", groups: ["beta"]), at: now)
        try await export(["ann"])
        #expect(try await move("ann") == .secondAccount(of: first.id, second.user))
        #expect(try bench.text("SELECT count(*) FROM user") == "2")
        #expect(try await pending("ann") == nil)
        let unmoved = try await database.unmovedPeople(to: Self.new, after: nil, limit: 10).items
        #expect(unmoved.map(\.user) == [first.id] && unmoved.map(\.reason) == ["second_account"])

        #expect(try await move("ann", joins: true, again: true) == .joined(first.id, from: second.user))
        let joined = try #require(try await database.user(first.id))
        #expect(joined.externalID == "7" && joined.groups == ["beta"])
        #expect(joined.appleSubject == AppleSubject("new-ann"))
        #expect(try await database.user(second.user) == nil)
        #expect(try await database.signedIn(token: second.tokenHash, at: now)?.user.id == first.id)
        let told = try await events()
        #expect(told.map(\.user) == [second.user, first.id] && told.map(\.into) == [first.id, nil])
        #expect(String(decoding: told[0].webhookBody, as: UTF8.self).contains(#""into":"\#(first.id)""#))
    }

    @Test func twoExternalIDsAreNotChosenBetween() async throws {
        let first = try #require(try await signIn("ann").user)
        let second = try #require(try await signIn("new-ann", team: Self.new).user)
        _ = try await database.patchUser(first.id, UserPatch(externalID: "1"), at: now)
        _ = try await database.patchUser(second.id, UserPatch(externalID: "2"), at: now)
        try await export(["ann"])
        #expect(try await move("ann", joins: true) == .twoExternalIDs(of: first.id, second.id))
        #expect(try bench.text("SELECT count(*) FROM user") == "2")
        #expect(try await events().isEmpty)
    }

    @Test("a person disabled under one subject is refused under the other", arguments: [true, false])
    func disabledStaysDisabled(isFirst: Bool) async throws {
        let first = try #require(try await signIn("ann").session)
        let second = try #require(try await signIn("new-ann", team: Self.new).session)
        let shut = isFirst ? first : second
        _ = try await database.patchUser(shut.user, UserPatch(state: .disabled), at: now)
        try await export(["ann"])
        #expect(try await move("ann", joins: true) == .joined(first.user, from: second.user))
        #expect(try await database.user(first.user)?.state == .disabled)
        #expect(try bench.text("SELECT count(*) FROM session") == "0")
        #expect(try await signIn("new-ann", team: Self.new) == .refused(.disabled, first.user))
    }

    // MARK: Those who cannot

    @Test func refusedAtImport() async throws {
        let ann = try #require(try await signIn("ann").session)
        try await export(["ann"])
        let person = try #require(try await pending("ann"))
        for _ in 0..<2 {
            try await database.keepRefusal("invalid_request", of: person, to: Self.new, at: now)
        }
        #expect(try await database.user(ann.user)?.credentialState == .transferred)
        #expect(try await events(.userUpdated).map(\.fields) == [["credentialState"]])
        #expect(try await database.signedIn(token: ann.tokenHash, at: now) != nil, "their session goes on")
        #expect(try await pending("ann") == nil)
        #expect(try await move("ann", again: true) == .moved(ann.user))
        #expect(try await database.user(ann.user)?.credentialState == .authorized)
        #expect(try await events().map(\.fields) == [["appleSubject", "credentialState"]])
    }

    @Test func refusedAtExport() async throws {
        _ = try await signIn("ann")
        _ = try await signIn("bob")
        let people = try await database.peopleToExport(of: Self.old, to: Self.new, again: false, after: nil, limit: 1)
        #expect(people.map(\.rawValue) == ["ann"])
        let answer = TransferAnswer<AppleSubject, TransferSubject>(
            person: people[0], outcome: .refused("invalid_request"))
        try await database.keepExports([answer], of: Self.old, to: Self.new, at: now)
        func open(again: Bool) async throws -> [String] {
            try await database.peopleToExport(of: Self.old, to: Self.new, again: again, after: nil, limit: 10)
                .map(\.rawValue)
        }
        #expect(try await open(again: false) == ["bob"])
        #expect(try await open(again: true) == ["ann", "bob"])
        let counts = try await database.transferCounts(from: Self.old, to: Self.new)
        #expect(counts.unasked == 1 && counts.refusedAtExport == 1 && counts.total == 2)
    }

    @Test func answersAreNotAppliedToALaterPerson() async throws {
        let ann = try #require(try await signIn("ann").user)
        let people = try await database.peopleToExport(of: Self.old, to: Self.new, again: false, after: nil, limit: 1)
        try await export(["ann"])
        let person = try #require(try await pending("ann"))
        #expect(try await database.deleteUser(ann.id, at: now) == .deleted(revocations: 1))
        let bob = try #require(try await signIn("bob").user)
        let answer = TransferAnswer(person: people[0], outcome: .value(TransferSubject("t.ann")))
        try await database.keepExports([answer], of: Self.old, to: Self.new, at: now)
        #expect(try await pending("ann") == nil)
        let identity = TransferredIdentity(subject: AppleSubject("new-ann"))
        #expect(
            try await database.move(person, to: identity, of: Self.new, joins: true, at: now) == .gone)
        #expect(try await user("new-ann") == nil)
        #expect(try await database.user(bob.id)?.appleSubject == AppleSubject("bob"))
    }

    @Test func twoPeopleNeverShareATransferSubject() async throws {
        _ = try await signIn("ann")
        _ = try await signIn("bob")
        let people = try await database.peopleToExport(of: Self.old, to: Self.new, again: false, after: nil, limit: 10)
        let answers = people.map { TransferAnswer(person: $0, outcome: .value(TransferSubject("t.same"))) }
        #expect(try await database.keepExports(answers, of: Self.old, to: Self.new, at: now) == 1)
        #expect(
            try await database.unmovedPeople(to: Self.new, after: nil, limit: 10).items.map(\.reason) == [
                "contradiction"
            ])
    }

    // MARK: What Apple says meanwhile

    @Test("before the move, a notification with the new subject finds the person")
    func consentRevokedBeforeTheMove() async throws {
        let session = try #require(try await signIn("ann").session)
        try await export(["ann"])
        #expect(try await apply(.consentRevoked, "ann") == .applied)
        #expect(try await database.signedIn(token: session.tokenHash, at: now) == nil)
        #expect(try await database.user(session.user)?.credentialState == .revoked)
        // Apple will refuse them; they stay what they are.
        let person = try #require(try await pending("ann"))
        try await database.keepRefusal("invalid_request", of: person, to: Self.new, at: now)
        #expect(try await database.user(session.user)?.credentialState == .revoked)
    }

    @Test("an event between two sign-ins ends only the earlier session")
    func eventBetween() async throws {
        let first = try #require(try await signIn("ann").session)
        try await export(["ann"])
        _ = try await move("ann")
        bench.clock.advance(seconds: 60)
        let between = notification(.consentRevoked, subject: "ann", time: now)
        let second = try #require(try await signIn("new-ann", team: Self.new).session)
        #expect(try await database.apply(between, team: Self.new, at: now) == .applied)
        #expect(try await database.signedIn(token: first.tokenHash, at: now) == nil)
        #expect(try await database.signedIn(token: second.tokenHash, at: now)?.user.credentialState == .authorized)
    }

    @Test("a revocation by the old subject during an early arrival's exchange ends its result")
    func revokedMeanwhile() async throws {
        _ = try await signIn("ann")
        try await export(["ann"])
        bench.clock.advance(seconds: 60)
        var attempt = record("new-ann", at: now)
        attempt.team = Self.new
        attempt.claims.transferSubject = "t.ann"
        bench.clock.advance(seconds: 2)
        let told = notification(.consentRevoked, subject: "ann", time: now)
        #expect(try await database.apply(told, team: Self.new, at: now) == .applied)
        #expect(try await database.completeSignIn(attempt) == .refused(.revoked, nil))
    }

    @Test("a deletion at Apple removes both subjects", arguments: ["ann", "new-ann"])
    func accountDeleted(name: String) async throws {
        let ann = try #require(try await signIn("ann").user)
        try await export(["ann"])
        _ = try await move("ann")
        #expect(try await apply(.accountDeleted, name) == .applied)
        #expect(try await database.user(ann.id) == nil)
        for table in ["user", "apple_identity", "session", "apple_credential"] {
            #expect(try bench.text("SELECT count(*) FROM \(table)") == "0", "\(table)")
        }
        #expect(try bench.text("SELECT count(*) FROM notification WHERE subject IS NOT NULL") == "0")
    }

    // MARK: Deletion

    @Test(
        "a person deleted during the transfer who returns under the new team is not revoked", arguments: [true, false])
    func deletedOnTheWay(hasMoved: Bool) async throws {
        let ann = try #require(try await signIn("ann").user)
        try await export(["ann"])
        if hasMoved { _ = try await move("ann") }
        #expect(try await database.deleteUser(ann.id, at: now) == .deleted(revocations: 1))
        #expect(try await database.dueRevocations(at: now, limit: 10).count == 1)
        #expect(try await pending("ann", again: true) == nil)
        // By the old name, to the new team: nothing of it is kept.
        #expect(try await apply(.emailDisabled, "ann") == .unknownSubject)
        #expect(try bench.text("SELECT count(*) FROM notification WHERE subject IS NOT NULL") == "0")
        let back = try #require(try await signIn("new-ann", team: Self.new, transferSubject: "t.ann").user)
        #expect(back.id != ann.id)
        #expect(try await database.dueRevocations(at: now, limit: 10).isEmpty)
    }

    // MARK: Lines of a file

    @Test func linesAreAdoptedOnce() async throws {
        let ann = try #require(try await signIn("ann").user)
        _ = try await signIn("bob")
        func line(_ subject: String, _ name: String, to team: TeamID = Self.new) -> TransferLine {
            TransferLine(
                sender: Self.old, subject: AppleSubject(subject), recipient: team,
                transferSubject: TransferSubject(name))
        }
        let lines = [
            line("ann", "t.ann"), line("ann", "t.ann"), line("ann", "t.other"), line("bob", "t.ann"),
            line("cat", "t.cat"), line("bob", "t.bob", to: TeamID("TEAM000000")),
        ]
        func adopt(_ lines: [TransferLine], isRehearsal: Bool = false) async throws -> [AdoptionResult] {
            try await database.adopt(lines, to: Self.new, isRehearsal: isRehearsal, at: now)
        }
        let rehearsed = try await adopt(lines, isRehearsal: true)
        #expect(try await pending("ann") == nil, "a rehearsal writes nothing")
        let results = try await adopt(lines)
        let person = try #require(try await pending("ann"))
        #expect(
            results == [
                .adopted(person), .known(person), .contradiction, .contradiction, .unknownPerson, .unknownPerson,
            ])
        #expect(rehearsed == results)
        #expect(try await move("ann") == .moved(ann.id))
        #expect(try await adopt([line("ann", "t.ann")]) == [.alreadyMoved])
        let exported = try await database.transferLines(from: Self.old, to: Self.new, after: nil, limit: 10)
        #expect(exported == [line("ann", "t.ann")])
    }

    /// Of the people of a file, who is left: in their order.
    @Test func stillToImport() async throws {
        let names = ["ann", "bob", "cat", "dan", "eve"]
        for name in names { _ = try await signIn(name) }
        try await export(names)
        let all = try await database.peopleToImport(to: Self.new, again: false, after: nil, limit: 100)
        let (ann, bob, cat) = (all[0], all[1], all[2])
        _ = try await move("ann")
        try await database.keepRefusal("invalid_request", of: bob, to: Self.new, at: now)
        let file = [ann, bob, cat, TransferSubject("t.other")]
        #expect(try await database.stillToImport(file, to: Self.new, again: false) == [cat])
        #expect(try await database.stillToImport(file, to: Self.new, again: true) == [bob, cat])
        #expect(try await database.stillToImport(file, to: Self.old, again: true).isEmpty)
        let routes = try await database.transferRoutes()
        #expect(routes == [TransferRoute(sender: Self.old, recipient: Self.new, exported: 5, waiting: 4)])
    }

    /// From team to team to team, and back: one person, one account, the latest name.
    @Test func onwardAndBack() async throws {
        let ann = try #require(try await signIn("ann").session)
        let third = TeamID("TEAM777777")
        func go(_ from: TeamID, _ target: TeamID, _ subject: String) async throws -> MoveResult {
            let people = try await database.peopleToExport(of: from, to: target, again: false, after: nil, limit: 10)
            #expect(people.count == 1)
            let name = TransferSubject("\(from.rawValue)-\(target.rawValue)")
            try await database.keepExports(
                [.init(person: people[0], outcome: .value(name))], of: from, to: target, at: now)
            let person = try await database.peopleToImport(to: target, again: false, after: nil, limit: 10)
            #expect(person.count == 1)
            let identity = TransferredIdentity(subject: AppleSubject(subject))
            return try await database.move(person[0], to: identity, of: target, joins: false, at: now)
        }
        #expect(try await go(Self.old, Self.new, "new-ann") == .moved(ann.user))
        #expect(try await go(Self.new, third, "third-ann") == .moved(ann.user))
        for name in ["ann", "new-ann", "third-ann"] {
            #expect(try await user(name, third)?.appleSubject == AppleSubject("third-ann"), "\(name)")
        }
        #expect(try await go(third, Self.old, "ann") == .moved(ann.user))
        for name in ["ann", "new-ann", "third-ann"] {
            let found = try await user(name, Self.old)
            #expect(found?.appleSubject == AppleSubject("ann") && found?.credentialState == .authorized, "\(name)")
        }
        #expect(try await database.signedIn(token: ann.tokenHash, at: now)?.user.appleSubject == AppleSubject("ann"))
        #expect(try await events().count == 3)
        #expect(try bench.text("SELECT count(*) FROM user") == "1")
    }
}
