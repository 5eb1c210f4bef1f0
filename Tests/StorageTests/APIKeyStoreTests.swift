import Coding
import Crypto
import RelyingParty
import Storage
import Strangers
import Testing

@Suite struct APIKeyStoreTests {
    @Test("a key is found by its hash until it is revoked, by another process too")
    func findsUntilRevoked() async throws {
        let bench = try Bench()
        let (ours, theirs) = (try bench.open(), try bench.open())
        defer {
            ours.close()
            theirs.close()
        }
        let token = APIKeyToken.make(random: SystemRandom())
        let key = APIKey(
            id: RandomIdentifier(random: SystemRandom()).make(), name: "李雷", scopes: [.introspect, .usersRead],
            createdAt: bench.clock.now())
        try await ours.createAPIKey(key, hash: token.hash)
        #expect(try await ours.apiKey(hash: token.hash) == key)
        #expect(try await ours.apiKey(hash: APIKeyToken.make(random: SystemRandom()).hash) == nil)
        try await ours.touchAPIKey(key.id, at: bench.clock.now())
        #expect(try await ours.apiKeys().map(\.lastUsedAt) == [bench.clock.now()])
        #expect(try await theirs.revokeAPIKey(key.id, at: bench.clock.now()))
        #expect(try await !theirs.revokeAPIKey(key.id, at: bench.clock.now()))
        #expect(try await ours.apiKey(hash: token.hash) == nil)
        #expect(try await ours.apiKeys().map(\.revokedAt) == [bench.clock.now()])
    }

    @Test("a key keeps when it expires, and the audit log has it; its holder is found afterwards too")
    func expires() async throws {
        let bench = try Bench()
        let database = try bench.open()
        defer { database.close() }
        let token = APIKeyToken.make(random: SystemRandom())
        let end = bench.clock.now().adding(seconds: 60)
        let key = APIKey(
            id: RandomIdentifier(random: SystemRandom()).make(), name: "k", scopes: [.links],
            createdAt: bench.clock.now(), expiresAt: end)
        try await database.createAPIKey(key, hash: token.hash)
        #expect(try await database.apiKey(hash: token.hash) == key)
        bench.clock.advance(seconds: 60)
        let found = try #require(try await database.apiKey(hash: token.hash))
        #expect(found.isExpired(at: bench.clock.now()))
        #expect(!found.isExpired(at: bench.clock.now().adding(milliseconds: -1)))
        let log = try await database.auditLog(AuditFilter(kinds: [.apiKeyCreated]), before: nil, limit: 9)
        #expect(log.items.map(\.reason) == ["expires \(end.rfc3339)"])
    }

    @Test("people are found by address, whatever the case of its letters, and by an index")
    func findsByAddress() async throws {
        let bench = try Bench()
        let database = try bench.open()
        defer { database.close() }
        for (subject, address) in [("ann", "Ann@Example.com"), ("bob", "bob@example.com"), ("eve", "ann@example.com")] {
            var record = record(subject, at: bench.clock.now())
            record.claims.email = EmailAddress(address: address, isVerified: true, isPrivate: false)
            _ = try await database.completeSignIn(record)
            bench.clock.advance(seconds: 1)
        }
        func find(_ address: String, after: UserCursor? = nil, limit: Int = 9) async throws -> UserPage {
            try await database.users(UserFilter(email: address), after: after, limit: limit)
        }
        #expect(
            try await find("ann@example.com").items.compactMap(\.email?.address) == [
                "Ann@Example.com", "ann@example.com",
            ])
        #expect(try await find("ann@example.co").items.isEmpty)
        #expect(try await find("%").items.isEmpty)
        let first = try await find("ANN@example.com", limit: 1)
        #expect(try await find("ANN@example.com", after: first.next).items.map(\.appleSubject.rawValue) == ["eve"])
    }

    @Test("a key's text is a prefix and 43 characters, prints nothing, and parses back")
    func parses() throws {
        let token = APIKeyToken.make(random: SystemRandom())
        #expect("\(token)" == "<redacted>")
        #expect(APIKeyToken(parsing: token.reveal())?.hash == token.hash)
        let body = token.reveal().dropFirst(4)
        for text in [
            "brs_\(body)", "brk_\(body)A", "brk_\(body.dropLast())", "BRK_\(body)", "brk_\(body.dropLast())=", "",
        ] {
            #expect(APIKeyToken(parsing: text) == nil, "\(text.count)")
        }
    }
}

@Suite struct RevocationQueueTests {
    private func delete(_ subject: String, _ database: Storage.Database, _ bench: Bench) async throws {
        let signIn = try await database.completeSignIn(record(subject, at: bench.clock.now()))
        let user = try #require(signIn.user)
        #expect(try await database.deleteUser(user.id, at: bench.clock.now()) != .unknown)
    }

    @Test("deleting somebody queues their refresh token, once, and it can be finished")
    func queues() async throws {
        let bench = try Bench()
        let database = try bench.open()
        defer { database.close() }
        try await delete("ann", database, bench)
        let due = try await database.dueRevocations(at: bench.clock.now(), limit: 10)
        #expect(due.count == 1)
        let entry = try #require(due.first)
        #expect(!entry.sealedRefreshToken.isEmpty && entry.attempts == 0)
        #expect(try await database.finishRevocation(entry.id, at: bench.clock.now()))
        #expect(try await !database.finishRevocation(entry.id, at: bench.clock.now()))
        #expect(try await database.dueRevocations(at: bench.clock.now(), limit: 10).isEmpty)
    }

    @Test("a postponed revocation waits; a given-up one loses its token and is never due")
    func postpones() async throws {
        let bench = try Bench()
        let database = try bench.open()
        defer { database.close() }
        try await delete("ann", database, bench)
        let entry = try #require(try await database.dueRevocations(at: bench.clock.now(), limit: 10).first)
        let next = bench.clock.now().adding(seconds: 60)
        try await database.postponeRevocation(entry.id, until: next, failure: "timeout")
        #expect(try await database.dueRevocations(at: next.adding(milliseconds: -1), limit: 10).isEmpty)
        let again = try await database.dueRevocations(at: next, limit: 10)
        #expect(again.map(\.attempts) == [1])
        #expect(again.first?.sealedRefreshToken == entry.sealedRefreshToken)
        try await database.postponeRevocation(entry.id, until: nil, failure: "expired")
        #expect(try await database.dueRevocations(at: next.adding(seconds: 1_000_000), limit: 10).isEmpty)
        let kept = try bench.stranger().read {
            try $0.row("SELECT sealed_refresh_token IS NULL, failure FROM revocation")
        }
        #expect(kept?[0].integer == 1)
        #expect(kept?[1].text == "expired")
    }

    @Test("a sign-in takes the person's queued revocation away, also under a new sealing key; others' stay")
    func signInCancels() async throws {
        let bench = try Bench()
        let first = try bench.open()
        try await delete("ann", first, bench)
        try await delete("bob", first, bench)
        first.close()
        let database = try bench.openAfterKeyRotation()
        defer { database.close() }
        _ = try await database.completeSignIn(record("ann", at: bench.clock.now()))
        #expect(try await database.dueRevocations(at: bench.clock.now(), limit: 10).count == 1)
        _ = try await database.completeSignIn(record("bob", at: bench.clock.now()))
        #expect(try await database.dueRevocations(at: bench.clock.now(), limit: 10).isEmpty)
    }
}
