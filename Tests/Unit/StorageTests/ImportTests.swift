import Coding
import Crypto
import Stores
import Testing

@testable import Accounts
@testable import Storage

@Suite struct ImportTests {
    let bench: Bench
    let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private func person(
        _ subject: String, externalID: String? = nil, name: PersonName = PersonName(), email: String? = nil,
        token: [UInt8]? = nil
    ) -> ImportedPerson {
        ImportedPerson(
            newUser: RandomIdentifier(random: SystemRandom()).make(), subject: AppleSubject(subject),
            externalID: externalID, name: name,
            email: email.map { EmailAddress(address: $0, isVerified: true, isPrivate: false) },
            credential: token.map { ImportedPerson.Credential(clientID: Bench.web, sealedRefreshToken: $0) })
    }

    private func run(_ people: [ImportedPerson], isRehearsal: Bool = false) async throws -> [ImportResult] {
        try await database.importPeople(people, team: Bench.team, isRehearsal: isRehearsal, at: bench.clock.now())
    }

    private func user(_ subject: String) async throws -> User? {
        try await database.user(team: Bench.team, subject: AppleSubject(subject))
    }

    private func events() async throws -> [JournalEntry] { try await database.events(after: nil, limit: 1000) }

    @Test func createsThemOnce() async throws {
        let ann = person("ann", externalID: "1", name: PersonName(given: "Ann"), email: "a@example.com", token: [1])
        #expect(try await run([ann]) == [.imported(ann.newUser)])
        let created = try #require(try await user("ann"))
        #expect(created.id == ann.newUser && created.state == .active && created.externalID == "1")
        #expect(created.email?.address == "a@example.com" && created.name.given == "Ann")
        #expect(try await events().map(\.kind) == [.userCreated])

        var again = ann
        again.newUser = RandomIdentifier(random: SystemRandom()).make()
        #expect(try await run([again, again]) == [.unchanged(ann.newUser), .unchanged(ann.newUser)])
        #expect(try await user("ann") == created)
        #expect(try await events().count == 1)
    }

    @Test func fillsOnlyEmptyFields() async throws {
        let first = person("ann", name: PersonName(given: "Ann"), email: "old@example.com")
        _ = try await run([first])
        let results = try await run([
            person("ann", externalID: "1", name: PersonName(given: "Ann", family: "Lee"), email: "new@example.com"),
            person("ann", externalID: "1", name: PersonName(given: "Bob", family: "Bee"), token: [2]),
            person("ann", token: [3]),
        ])
        #expect(results == [.updated(first.newUser), .updated(first.newUser), .unchanged(first.newUser)])
        let user = try #require(try await user("ann"))
        #expect(user.externalID == "1" && user.email?.address == "old@example.com")
        #expect(user.name == PersonName(given: "Ann", family: "Lee"))
        #expect(try await events().map(\.fields) == [[], ["externalID", "name"]])
        let record = try await database.accountRecord(of: user.id, newest: 100, at: bench.clock.now())
        #expect(record?.identities.first?.credentials.map(\.holdsToken) == [true])
    }

    @Test func externalIDsBelongToOne() async throws {
        let (ann, bob) = (person("ann", externalID: "1"), person("bob", externalID: "1"))
        #expect(try await run([ann, bob]) == [.imported(ann.newUser), .refused(.externalIDTaken(by: ann.newUser))])
        #expect(try await user("bob") == nil)
        let nobody = person("bob")
        _ = try await run([nobody])
        let results = try await run([
            person("bob", externalID: "1"), person("ann", externalID: "2", name: PersonName(given: "Ann")),
        ])
        #expect(
            results == [.refused(.externalIDTaken(by: ann.newUser)), .refused(.otherExternalID(of: ann.newUser))])
        #expect(try await user("ann")?.name.given == nil, "a refused line fills nothing")
        #expect(try await events().count == 2)
    }

    @Test func aRehearsalWritesNothing() async throws {
        let ann = person("ann", externalID: "1", token: [1])
        #expect(try await run([ann, ann, person("bob", externalID: "1")], isRehearsal: true).count == 3)
        #expect(try await user("ann") == nil)
        #expect(try await events().isEmpty)
        #expect(try await run([ann]) == [.imported(ann.newUser)])
    }

    /// The first sign-in finds them, though sign-up is closed, and knows better than the file.
    @Test(arguments: SignUpPolicy.allCases)
    func theFirstSignInIsTheirs(policy: SignUpPolicy) async throws {
        let ann = person("ann", externalID: "1", email: "old@example.com", token: [1])
        _ = try await run([ann])
        let result = try await database.completeSignIn(record("ann", policy: policy, at: bench.clock.now()))
        let user = try #require(result.user)
        #expect(user.id == ann.newUser && user.externalID == "1" && user.email?.address == "ann@example.com")
        #expect(result.session != nil)
        if case .signedIn(_, _, let isNew) = result { #expect(!isNew) }
    }

    @Test func importDoesNotOverwriteApplesData() async throws {
        let now = bench.clock.now()
        // Known by a sign-in, then revoked: an old token does not bring the consent back.
        _ = try await database.completeSignIn(record("ann", at: now))
        _ = try await database.apply(notification(.consentRevoked, time: now), team: Bench.team, at: now)
        let user = try #require(try await user("ann"))
        #expect(try await run([person("ann", token: [9])]) == [.unchanged(user.id)])
        let kept = try await database.accountRecord(of: user.id, newest: 100, at: now)
        #expect(kept?.identities.first?.credentials.map(\.holdsToken) == [false])

        // Imported: any notification is later than the sign-in that brought the token.
        let bob = person("bob", token: [1])
        _ = try await run([bob])
        let past = now.adding(seconds: -86_400)
        let outcome = try await database.apply(
            notification(.consentRevoked, subject: "bob", time: past), team: Bench.team, at: now)
        #expect(outcome == .applied)
        #expect(try await self.user("bob")?.credentialState == .revoked)
        let record = try await database.accountRecord(of: bob.newUser, newest: 100, at: now)
        #expect(record?.identities.first?.credentials.map(\.holdsToken) == [false])
    }

    @Test func deletedPersonIsNotImportedDuringTheRevocation() async throws {
        let now = bench.clock.now()
        let ann = person("ann", token: [1])
        _ = try await run([ann])
        #expect(try await database.deleteUser(ann.newUser, at: now) != .unknown)
        #expect(try await run([person("ann", token: [1])]) == [.refused(.beingDeleted)])
        for entry in try await database.dueRevocations(at: now, limit: 10) {
            _ = try await database.finishRevocation(entry.id, at: bench.clock.now())
        }
        let again = person("ann")
        #expect(try await run([again]) == [.imported(again.newUser)])
    }

    @Test func personBlockedElsewhereIsImportedAsDisabled() async throws {
        var ann = person("ann")
        ann.state = .disabled
        #expect(try await run([ann]) == [.imported(ann.newUser)])
        #expect(try await user("ann")?.state == .disabled)
        let result = try await database.completeSignIn(record("ann", policy: .closed, at: bench.clock.now()))
        #expect(result.session == nil)
    }

    @Test func disabledPeopleStayDisabled() async throws {
        let ann = person("ann")
        _ = try await run([ann])
        _ = try await database.setState(.disabled, of: ann.newUser, at: bench.clock.now())
        #expect(try await run([person("ann", externalID: "1")]) == [.updated(ann.newUser)])
        #expect(try await user("ann")?.state == .disabled)
    }
}
