import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct APIKeyStoreTests {
    @Test("a key is found by its hash until it is revoked, by another process too", arguments: StoreKind.allCases)
    func findsUntilRevoked(kind: StoreKind) async throws {
        let bench = try Bench(kind)
        let (ours, theirs) = (try bench.open(), try bench.open())
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

    @Test("a key's expiry is stored and audited, and an expired key is still found")
    func expires() async throws {
        let (bench, database) = try Bench().opened()
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
