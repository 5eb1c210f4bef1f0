import Coding
import Crypto
import Foundation
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

@Suite struct AuditTests {
    let bench: Bench
    let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private func signIn(_ subject: String = "ann", policy: SignUpPolicy = .open) async throws -> SignInResult {
        try await database.completeSignIn(record(subject, policy: policy, at: bench.clock.now()))
    }

    /// Oldest first.
    private func lines(_ filter: AuditFilter = AuditFilter()) async throws -> [AuditEntry] {
        try await database.auditLog(filter, before: nil, limit: 1_000).items.reversed()
    }

    private func kinds(_ user: UserID) async throws -> [AuditEntry.Kind] {
        try await lines(AuditFilter(user: user)).map(\.kind)
    }

    @Test func signInIsAuditedWithActorNetworkAndPerson() async throws {
        let result = try await AuditActor.$current.withValue(.visitor(network: "192.0.2.0/24")) {
            try await signIn()
        }
        let user = try #require(result.user)
        let lines = try await lines(AuditFilter(user: user.id))
        #expect(lines.map(\.kind) == [.userCreated, .signIn])
        #expect(lines.allSatisfy { $0.actor == .visitor && $0.network == "192.0.2.0/24" })
        #expect(lines.allSatisfy { $0.time == bench.clock.now() && $0.subject?.count == 16 })
        // Whom nobody asks for, the server does by itself.
        let other = try #require(try await signIn("bob").user)
        #expect(try await self.lines(AuditFilter(user: other.id)).allSatisfy { $0.actor == .server })
        #expect(try await kinds(UserID(unchecked: "usr_nobody")) == [])
    }

    @Test("a refusal of a verified person is audited with its reason code")
    func refusals() async throws {
        let ann = try #require(try await signIn().user)
        #expect(try await signIn("new", policy: .closed) == .refused(.closed, nil))
        guard case .refused(.pending, let bob?) = try await signIn("bob", policy: .approval) else {
            throw Unexpected("bob was let in")
        }
        _ = try await database.patchUser(ann.id, UserPatch(state: .disabled), at: bench.clock.now())
        _ = try await signIn()
        let refused = try await lines(AuditFilter(kinds: [.signInRefused]))
        #expect(refused.map(\.reason) == ["sign_up_closed", "user_pending", "user_disabled"])
        #expect(refused[0].subject == nil)
        #expect(try await kinds(bob) == [.userCreated, .signInRefused])
        #expect(
            try await kinds(ann.id) == [.userCreated, .signIn, .userDisabled, .sessionEnded, .signInRefused])
    }

    @Test func auditNamesWhoChangedAPerson() async throws {
        let ann = try #require(try await signIn("ann", policy: .open).user)
        let now = bench.clock.now()
        let key = APIKeyID(unchecked: "key_1")
        try await AuditActor.$current.withValue(.application(key)) {
            _ = try await database.patchUser(ann.id, UserPatch(state: .disabled), at: now)
            _ = try await database.patchUser(ann.id, UserPatch(state: .active), at: now)
            _ = try await database.patchUser(ann.id, UserPatch(groups: ["secret-group"]), at: now)
        }
        let lines = try await lines(AuditFilter(user: ann.id)).dropFirst(2)
        #expect(lines.map(\.kind) == [.userDisabled, .sessionEnded, .userEnabled, .userChanged])
        #expect(lines.allSatisfy { $0.actor == .application && $0.apiKey == key && $0.network == nil })
        #expect(lines.last?.object == "groups")
        guard case .refused(.pending, let bob?) = try await signIn("bob", policy: .approval) else {
            throw Unexpected("bob does not have to wait")
        }
        _ = try await database.patchUser(bob, UserPatch(state: .active), at: now)
        #expect(try await kinds(bob).last == .userApproved)
    }

    @Test func anOperatorsLineNamesThePersonUntilTheirAccountIsDeleted() async throws {
        let ann = try #require(try await signIn().user?.id)
        let now = bench.clock.now()
        try await AuditActor.$current.withValue(.operatorPage(UserID(unchecked: "usr_operator"), network: nil)) {
            _ = try await database.patchUser(ann, UserPatch(groups: ["staff"]), at: now)
            _ = try await database.patchUser(ann, UserPatch(state: .disabled), at: now)
            try await database.record(.accessEnded, user: ann, object: "wiki", at: now)
        }
        let kinds: Set<AuditEntry.Kind> = [.userChanged, .userDisabled, .accessEnded]
        let named = try await lines(AuditFilter(kinds: kinds))
        #expect(named.map(\.object) == ["groups", nil, "wiki"])
        #expect(named.map(\.person) == [ann, ann, ann])
        // Erased also when the subject's key is gone.
        database.close()
        var changed = bench
        let next = SealingKey.generate()
        changed.keyring = SealingKeyring(current: next, previous: [Bench.key])
        try changed.open().close()
        changed.keyring = SealingKeyring(current: next, previous: [])
        let later = try changed.open()
        try await AuditActor.$current.withValue(.operator) {
            _ = try await later.deleteUser(ann, at: now)
            // Of a page that was read before.
            try await later.record(.userViewed, user: ann, object: nil, at: now)
        }
        let left = try await later.auditLog(AuditFilter(), before: nil, limit: 1_000).items
        #expect(left.allSatisfy { $0.person == nil } && left.first?.kind == .userViewed)
        #expect(left.filter { kinds.contains($0.kind) }.map(\.object) == ["wiki", nil, "groups"])
        later.close()
    }

    @Test func keysAndNotificationsAreAudited() async throws {
        let ann = try #require(try await signIn().user)
        let now = bench.clock.now()
        let key = APIKey(
            id: APIKeyID(unchecked: "key_2"), name: "the shop", scopes: [], createdAt: now)
        try await database.createAPIKey(key, hash: randomDigest())
        #expect(try await database.revokeAPIKey(key.id, at: now))
        #expect(try await database.revokeAPIKey(key.id, at: now) == false)
        let keys = try await lines(AuditFilter(kinds: [.apiKeyCreated, .apiKeyRevoked]))
        #expect(keys.map(\.object) == ["key_2", "key_2"])
        try await AuditActor.$current.withValue(.apple) {
            _ = try await database.apply(notification(.consentRevoked, time: now), team: Bench.team, at: now)
        }
        let apples = try await lines(AuditFilter(user: ann.id)).filter { $0.actor == .apple }
        #expect(apples.map(\.kind).contains(.consentRevoked))
        #expect(apples.contains { $0.kind == .sessionEnded && $0.reason == "consent_revoked" })
    }

    @Test func changedKeysAndConfigurationAreAuditedOnceAcrossRestarts() async throws {
        func note(_ state: UInt8, _ object: String, in database: Accounts.Database) async throws {
            try await AuditActor.$current.withValue(.operator) {
                try await database.recordChange(
                    .appleKeyChanged, to: [state], object: object, at: bench.clock.now())
            }
        }
        try await note(1, "KEY1", in: database)
        try await note(1, "KEY1", in: database)
        let filter = AuditFilter(kinds: [.appleKeyChanged])
        #expect(try await lines(filter) == [], "there was nothing to change from")
        try await note(2, "KEY2", in: database)
        try await note(2, "KEY2", in: database)
        // Another thing with the same state is another thing.
        try await database.recordChange(.certificateChanged, to: [1], object: "c", at: bench.clock.now())
        let later = try bench.open()
        try await note(2, "KEY2", in: later)
        try await note(1, "KEY1", in: later)
        later.close()
        #expect(try await lines(filter).map(\.object) == ["KEY2", "KEY1"])
        #expect(try await lines(filter).allSatisfy { $0.actor == .operator && $0.subject == nil })
        #expect(try await lines(AuditFilter(kinds: [.certificateChanged])) == [])
    }

    @Test func expiredSessionIsNotAudited() async throws {
        let first = try #require(try await signIn().session)
        _ = try await database.completeSignIn(record("ann", replacing: first.id, at: bench.clock.now()))
        bench.clock.advance(seconds: 90_000)
        #expect(try await database.maintain(at: bench.clock.now()).sessions == 1)
        #expect(try await lines(AuditFilter(kinds: [.sessionEnded])) == [])
    }

    @Test func changesThatFailAreNotAudited() async throws {
        let before = try await lines().count
        await #expect(throws: Failure.self) {
            try await database.write { transaction in
                try transaction.audit(.command, object: "x")
                throw StoreError.inconsistent("undone")
            }
        }
        #expect(try await lines().count == before)
    }

    @Test("after a deletion nothing in the file names the person, and their id finds the lines", .onSQLite)
    func erasure() async throws {
        let ann = try #require(try await signIn("001.canary-subject").user)
        _ = try await signIn("bob")
        let named = ["001.canary-subject", "001.canary-subject@example.com", ann.id.rawValue]
        let full = try String(decoding: bench.databaseBytes(), as: UTF8.self)
        for text in named { #expect(full.contains(text), "\(text) was never there") }
        bench.clock.advance(seconds: 100 * 86_400)
        _ = try await database.deleteUser(ann.id, at: bench.clock.now())
        let before = try await kinds(ann.id)
        #expect(before == [.userCreated, .signIn, .sessionEnded, .userDeleted])
        // The journal's entries and what waits for Apple go in their time; the audit log stays.
        bench.clock.advance(seconds: 91 * 86_400)
        _ = try await signIn("carl")
        bench.clock.advance(milliseconds: 1)
        database.store.tick(at: bench.clock.now())
        _ = try await database.maintain(at: bench.clock.now())
        #expect(try await kinds(ann.id) == before)
        let hash = SHA256.hash(utf8: ann.id.rawValue)
        let audit = try await lines()
        #expect(!audit.contains { $0.subject.map { Array(hash.bytes.prefix(16)) == $0 } ?? false }, "not keyed")
        database.close()
        let file = try String(decoding: bench.databaseBytes(), as: UTF8.self)
        for text in named { #expect(!file.contains(text), "\(text) is left") }
    }

    @Test("lines under an old sealing key are found only while it is listed")
    func sealingKeyChange() async throws {
        let ann = try #require(try await signIn().user)
        database.close()
        let next = SealingKey.generate()
        var changed = bench
        changed.keyring = SealingKeyring(current: next, previous: [Bench.key])
        let second = try changed.open()
        _ = try await second.completeSignIn(record("ann", at: bench.clock.now()))
        let found = try await second.auditLog(AuditFilter(user: ann.id), before: nil, limit: 10).items
        #expect(found.map(\.kind) == [.signIn, .signIn, .userCreated])
        #expect(Set(found.map(\.subject)).count == 2)
        let change = try await second.auditLog(AuditFilter(kinds: [.sealingKeyChanged]), before: nil, limit: 10).items
        #expect(change.map(\.object) == [next.id] && change.map(\.actor) == [.server])
        second.close()
        changed.keyring = SealingKeyring(current: next, previous: [])
        let third = try changed.open()
        let left = try await third.auditLog(AuditFilter(user: ann.id), before: nil, limit: 10).items
        #expect(left.map(\.kind) == [.signIn])
        third.close()
    }

    @Test("lines are deleted in batches at their time, and none before", arguments: [1, 450])
    func retention(count: Int) async throws {
        let age = RetentionPolicy().audit
        #expect(age == 400 * 86_400)
        for number in 0..<count {
            try await database.record(.command, user: nil, object: "\(number)", at: bench.clock.now())
        }
        bench.clock.advance(seconds: 1)
        try await database.record(.command, user: nil, object: "last", at: bench.clock.now())
        bench.clock.advance(milliseconds: age * 1_000 - 1_001)
        #expect(try await database.maintain(at: bench.clock.now()).audit == 0)
        bench.clock.advance(milliseconds: 1)
        #expect(try await database.maintain(at: bench.clock.now()).audit == count)
        #expect(try await lines().map(\.object) == ["last"])
    }
}
