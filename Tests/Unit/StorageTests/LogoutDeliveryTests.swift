import Coding
import Crypto
import LogRecording
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// How programs learn that a session has ended (Back-Channel Logout), with a clock that can be set. What they receive is
/// in Tests/System/OpenID.
@Suite struct LogoutDeliveryTests {
    private static let uri = "https://program.example.com/logout"

    private let bench: Bench
    private let database: Accounts.Database
    private let log = LogRecorder()
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        try await register("program", "other")
    }

    private func register(_ names: String..., uri: String? = LogoutDeliveryTests.uri) async throws {
        let made = names.map { name in
            OpenIDClient(
                id: OpenIDClientID(unchecked: name), name: name, secrets: nil,
                redirectURIs: ["https://program.example.com/callback"], backChannelLogoutURI: uri, createdAt: now,
                updatedAt: now)
        }
        _ = try await database.changeOpenIDClients(at: now) { clients in
            clients.filter { client in !made.contains { $0.id == client.id } } + made
        }
    }

    private func signIn(_ subject: String = "ann", team: TeamID = Bench.team) async throws -> Session {
        var record = record(subject, at: now)
        record.team = team
        return try #require(try await database.completeSignIn(record).session)
    }

    /// The session's person uses a program.
    @discardableResult
    private func use(_ session: Session, _ client: String = "program", number: UInt8 = 1) async throws -> Grant.ID {
        let id = try #require(Grant.ID(bytes: Array(session.id.rawValue.utf8.suffix(15)) + [number]))
        let grant = Grant(
            id: id, client: OpenIDClientID(unchecked: client), user: session.user, session: session.id,
            redirectURI: "", scopes: [.openid], nonce: nil, challenge: nil, authenticatedAt: now,
            code: Grant.Token(hash: SHA256.hash(utf8: "code"), expiresAt: now.adding(seconds: 60)),
            expiresAt: session.expiresAt)
        #expect(try await database.saveGrant(grant, at: now) == .saved)
        return id
    }

    private func dispatcher(_ receiver: FakeReceiver) -> WebhookDispatcher {
        WebhookDispatcher(
            database: database, sender: receiver, targets: [], logoutTokens: fakeLogoutTokens,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: log.logger))
    }

    private func drain(_ receiver: FakeReceiver) async { await dispatcher(receiver).drain() }

    /// What an application that answers is told now.
    private func logouts() async -> [String] {
        let receiver = FakeReceiver()
        await drain(receiver)
        return receiver.logouts
    }

    private func told(_ session: Session, _ client: String = "program", at time: Timestamp? = nil) -> String {
        "\(Self.uri) \(client) \(session.user) \(session.id) \((time ?? now).seconds)"
    }

    @Test("each delivery says whether its address was registered through the API")
    func reach() async throws {
        let dispatcher = dispatcher(FakeReceiver())
        for isPublicOnly in [false, true] {
            try await database.changeClients(at: now) { client in
                client.nameBackChannel(nil, by: .command)
                client.nameBackChannel(Self.uri, by: isPublicOnly ? .api : .command)
            }
            let session = try await signIn()
            try await use(session)
            _ = try await database.endSession(session.id, cause: .signOut, at: now)
            let (deliveries, _) = await dispatcher.round()
            #expect(deliveries.map(\.logout) == [LogoutAddress(uri: Self.uri, isPublicOnly: isPublicOnly)])
            for delivery in deliveries { await dispatcher.deliver(delivery) }
        }
    }

    @Test("an expired session notifies each participating application once")
    func expiry() async throws {
        let session = try await signIn()
        try await use(session)
        try await use(session, number: 2)
        bench.clock.advance(seconds: 40 * 86_400)
        #expect(try await database.maintain(at: now).sessions == 1)
        #expect(await logouts() == [told(session)])
    }

    @Test("a dead credential notifies the applications")
    func deadCredential() async throws {
        let session = try await signIn()
        try await use(session, "other")
        try await bench.findDead(database)
        #expect(await logouts() == [told(session, "other")])
    }

    @Test("a grant whose tokens ended early still notifies its client")
    func endedGrant() async throws {
        let session = try await signIn()
        let id = try await use(session)
        try await database.changeGrant(id, at: now) { _ in (.end, ()) }
        #expect(try await database.grant(id, at: now) == nil)
        #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        #expect(await logouts() == [told(session)])
    }

    @Test("a failed logout call is repeated by the webhooks' schedule with a new token, and delays no other")
    func schedule() async throws {
        let (first, second) = (try await signIn(), try await signIn())
        let stranger = try await signIn("bob")
        for session in [first, second, stranger] { try await use(session) }
        for session in [first, second, stranger] {
            #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        }
        let failing = FakeReceiver { _ in .status(500) }
        let began = now
        await drain(failing)
        #expect(failing.logouts.sorted() == [told(first), told(second), told(stranger)].sorted())
        await drain(failing)
        #expect(failing.logouts.count == 3, "not before its time")
        bench.clock.advance(seconds: 6)
        let receiver = FakeReceiver()
        await drain(receiver)
        #expect(
            receiver.logouts.sorted() == [told(first), told(second), told(stranger)].sorted() && began != now)
        #expect(log.lines.filter { $0.contains("webhook endpoint failing") }.count == 1)
    }

    @Test("an application that never answers becomes a dead letter, and can be retried")
    func deadLetter() async throws {
        let session = try await signIn()
        try await use(session)
        #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        let gone = FakeReceiver { _ in .status(503) }
        for _ in 0..<12 {
            await drain(gone)
            bench.clock.advance(seconds: 2 * 86_400)
        }
        #expect(gone.logouts.count > 1)
        let dead = try await database.deadWebhooks(after: nil, limit: 10).items
        #expect(dead.map(\.url) == ["client:program"] && dead.map(\.failure) == ["status 503"])
        #expect(try await database.retryWebhooks(.endpoint(url: "client:program"), at: now) == 1)
        #expect(await logouts() == [told(session)])
    }

    @Test(
        "a final refusal ends only the delivery of that session",
        arguments: [400, 401, 403, 404, 410, 422, 501])
    func refused(status: Int) async throws {
        let (first, second) = (try await signIn(), try await signIn())
        for session in [first, second] {
            try await use(session)
            #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        }
        let receiver = FakeReceiver { _ in .status(status) }
        await drain(receiver)
        #expect(receiver.logouts.sorted() == [told(first), told(second)].sorted())
        #expect(try await database.webhookEndpoints().map(\.backlog).reduce(0, +) == 0)
        #expect(try await database.deadWebhooks(after: nil, limit: 9).items.isEmpty)
        #expect(log.lines.filter { $0.contains("logout token refused") && $0.contains("status \(status)") }.count == 2)
        #expect(!log.lines.contains { $0.contains("webhook endpoint failing") })
    }

    @Test("timeouts and rate limits do not end a delivery", arguments: [408, 425, 429, 500, 502, 503])
    func notYet(status: Int) async throws {
        let session = try await signIn()
        try await use(session)
        #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        await drain(FakeReceiver { _ in .status(status) })
        #expect(try await database.webhookEndpoints().map(\.backlog).reduce(0, +) == 1)
    }

    @Test("configured webhooks and clients' endpoints do not affect each other")
    func beside() async throws {
        try database.setWebhookEndpoints([WebhookBench.one], at: now)
        try database.setWebhookEndpoints([], at: now)
        let urls = try await database.webhookEndpoints().map(\.url)
        #expect(urls.sorted() == ["client:other", "client:program"])
        let session = try await signIn()
        try await use(session)
        #expect(try await database.webhookEndpoints().allSatisfy { $0.backlog == 0 }, "the journal is not theirs")
        #expect(try await database.endSession(session.id, cause: .signOut, at: now))
        #expect(try await database.webhookEndpoints().map(\.backlog).reduce(0, +) == 1)
        #expect(try await database.counts(CheckScope(team: Bench.team, clients: []), at: now).webhooksWaiting == 1)
        // Without an address, or without the client, nothing waits.
        try await register("program", uri: nil)
        #expect(try await database.webhookEndpoints().map(\.url) == ["client:other"])
        #expect(try await database.webhookWork(at: now).due.isEmpty)
    }

    @Test("joining an account ends its sessions at applications, which know it by its own ID")
    func join() async throws {
        let new = TeamID("TEAM654321")
        let first = try await signIn()
        bench.clock.advance(seconds: 60)
        let (second, plain) = (try await signIn("new-ann", team: new), try await signIn("new-ann", team: new))
        try await use(second)
        let person = try #require(
            try await database.peopleToExport(of: Bench.team, to: new, again: false, after: nil, limit: 9).first)
        let answer = TransferAnswer(person: person, outcome: .value(TransferSubject("t.ann")))
        #expect(try await database.keepExports([answer], of: Bench.team, to: new, at: now) == 0)
        let result = try await database.move(
            TransferSubject("t.ann"), to: TransferredIdentity(subject: AppleSubject("new-ann"), email: nil), of: new,
            joins: true, at: now)
        #expect(result == .joined(first.user, from: second.user))
        #expect(await logouts() == [told(second)])
        #expect(try await database.signedIn(token: second.tokenHash, at: now) == nil)
        #expect(try await database.signedIn(token: plain.tokenHash, at: now)?.user.id == first.user)
    }
}
