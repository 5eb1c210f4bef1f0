import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// Credential states in the stores: whatever the order in which Apple's words arrive, and however often.
@Suite struct CredentialStateTests {
    /// A word of Apple's, at so many seconds after the first sign-in by Apple's clock.
    enum Word: Hashable, Sendable {
        case signIn(Int64)
        case revoke(Int64)
        case delete(Int64)

        var time: Int64 {
            switch self {
            case .signIn(let time), .revoke(let time), .delete(let time): time
            }
        }
        /// A sign-in comes before an end of the same moment.
        var rank: Int { if case .signIn = self { 0 } else { 1 } }
    }

    struct Case: Sendable {
        var words: [Word]
        var policy: AccountDeletionPolicy
    }

    static let cases: [Case] = [
        Case(words: [.signIn(10), .signIn(20), .revoke(5), .revoke(15)], policy: .erase),
        Case(words: [.signIn(10), .revoke(10), .revoke(20)], policy: .erase),
        Case(words: [.signIn(10), .signIn(20), .revoke(15), .delete(12)], policy: .disable),
        Case(words: [.signIn(10), .signIn(20), .revoke(15), .delete(12)], policy: .erase),
        Case(words: [.revoke(5), .revoke(15), .delete(12), .delete(20)], policy: .disable),
        Case(words: [.signIn(10), .delete(10), .revoke(0)], policy: .erase),
    ]

    private static func orders(_ words: [Word]) -> [[Word]] {
        if words.isEmpty { return [[]] }
        return words.indices.flatMap { index in
            var rest = words
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }

    /// What the words come to when they are taken in the order of Apple's clock.
    private static func fold(_ words: [Word], _ policy: AccountDeletionPolicy, from start: Timestamp)
        -> CredentialStatus?
    {
        var (status, lastSignIn): (CredentialStatus?, Timestamp) = (nil, start)
        for word in words.sorted(by: { ($0.time, $0.rank) < ($1.time, $1.rank) }) {
            let time = start.adding(seconds: word.time)
            let event: CredentialEvent =
                switch word {
                case .signIn: .signIn(issuedAt: time)
                case .revoke: .consentRevoked(at: time)
                case .delete: .accountDeleted(at: time, policy)
                }
            status = .transition(from: status, on: event, lastSignIn: lastSignIn)
            if case .signIn = word { lastSignIn = max(lastSignIn, time) }
        }
        return status
    }

    @Test(
        "in every order, with repetitions, the state follows Apple's clock", arguments: StoreKind.allCases, cases)
    func everyOrder(kind: StoreKind, test: Case) async throws {
        let subject = try StoreContractTests.Subject(kind, onAccountDeleted: test.policy)
        let (store, start) = (subject.store, subject.now)
        // Each sign-in began before anything was told: the hardest race for it.
        subject.clock.advance(seconds: 60)
        for (index, order) in Self.orders(test.words).enumerated() {
            let person = "person-\(index)"
            func signIn(_ seconds: Int64) -> SignInRecord {
                record(
                    person, issuedAt: start.adding(seconds: seconds), attemptIssuedAt: start, at: subject.now)
            }
            var accepted: [Word] = [.signIn(0)]
            _ = try await store.completeSignIn(signIn(0))
            var signIns: [Word: SignInRecord] = [:]
            for word in order { if case .signIn(let time) = word { signIns[word] = signIn(time) } }
            for pass in 1...2 {
                for word in order {
                    let time = start.adding(seconds: word.time)
                    switch word {
                    case .signIn:
                        let result = try await store.completeSignIn(try #require(signIns[word]))
                        if case .alreadyUsed = result { #expect(pass == 2) } else { #expect(pass == 1) }
                        if pass == 1, result != .refused(.revoked, nil) { accepted.append(word) }
                    case .revoke, .delete:
                        let end = notification(
                            word == .revoke(word.time) ? .consentRevoked : .accountDeleted,
                            id: "\(person) \(word)", subject: person, time: time)
                        let outcome = try await store.apply(end, team: Bench.team, at: subject.now)
                        #expect((outcome == .duplicate) == (pass == 2), "\(order) \(word) \(outcome)")
                        if pass == 1 { accepted.append(word) }
                    }
                }
                let found = try await store.user(team: Bench.team, subject: AppleSubject(person))?.credential
                let expected = Self.fold(accepted, test.policy, from: start)
                #expect(found?.state == expected?.state, "\(order), pass \(pass)")
                if let expected, expected.state != .authorized { #expect(found == expected, "\(order), pass \(pass)") }
            }
        }
    }

    @Test(
        "a change has one event, and its time and cause wherever the person is read", arguments: StoreKind.allCases)
    func shown(kind: StoreKind) async throws {
        let subject = try StoreContractTests.Subject(kind)
        let (store, time) = (subject.store, subject.now)
        let user = try await subject.signIn(issuedAt: time).user
        func status() async throws -> CredentialStatus? {
            let status = try await store.user(user)?.credential
            let record = try await store.accountRecord(of: user, newest: 100, at: subject.now)
            #expect(record?.user.credential == status)
            #expect(record?.identities.map(\.credential) == [try #require(status)])
            return status
        }
        #expect(try await status() == CredentialStatus(state: .authorized, changedAt: time, cause: .signIn))
        let withdrawn = time.adding(milliseconds: 2_345)
        for id in ["1", "2"] {
            _ = try await store.apply(
                notification(.consentRevoked, id: id, time: withdrawn), team: Bench.team, at: subject.now)
        }
        #expect(try await status() == CredentialStatus(state: .revoked, changedAt: withdrawn, cause: .consentRevoked))
        subject.clock.advance(seconds: 60)
        let back = try await subject.signIn(issuedAt: time.adding(seconds: 30))
        #expect(
            try await status()
                == CredentialStatus(state: .authorized, changedAt: time.adding(seconds: 30), cause: .signIn))
        let seen = try await store.signedIn(token: back.tokenHash, at: subject.now)?.user.credential
        #expect(try await seen == status())
        let updates = try await subject.journal().filter { $0.kind == .userUpdated }
        #expect(updates.map(\.fields) == [["credentialState"], ["credentialState"]])
    }

    @Test("an import is authorized from its time; a later import of a known person changes nothing")
    func imported() async throws {
        let (bench, database) = try Bench().opened()
        let identifiers = RandomIdentifier(random: SystemRandom())
        let (now, ann) = (bench.clock.now(), AppleSubject("ann"))
        for _ in 0..<2 {
            _ = try await database.importPeople(
                [ImportedPerson(newUser: identifiers.make(), subject: ann)], team: Bench.team, isRehearsal: false,
                at: bench.clock.now())
            let status = try await database.user(team: Bench.team, subject: ann)?.credential
            #expect(status == CredentialStatus(state: .authorized, changedAt: now, cause: .imported))
            bench.clock.advance(seconds: 60)
        }
    }
}
